"""A folder of its own for each evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.forked import forked_servers


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _forked() -> Iterator[None]:
    """Servers are forked from the test's process, which has imported what they need."""
    with forked_servers():
        yield
