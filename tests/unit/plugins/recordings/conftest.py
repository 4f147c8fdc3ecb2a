from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from trialbed_plugins.recordings import ModelCache

OpenCache = Callable[[], ModelCache]


@pytest.fixture
def open_cache(tmp_path: Path) -> Iterator[OpenCache]:
    """Opens the cache ``a.db``, as another process does."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(ModelCache(tmp_path / "a.db")))
