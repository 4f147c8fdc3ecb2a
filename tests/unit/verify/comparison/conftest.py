"""Files of vendors, compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.vendor_rows import compared_files, own_file

Outcomes = Sequence[Sequence[str] | str]
Compared = Callable[..., dict[str, Any]]


@pytest.fixture
def compared(tmp_path: Path) -> Compared:
    """Compares a vendor with a baseline, each given by the outcomes of its cases."""

    def make(baseline: Outcomes, vendor: Outcomes, **options: Any) -> dict[str, Any]:
        files = [own_file(tmp_path / f"{name}.jsonl", ends) for name, ends in (("base", baseline), ("acme", vendor))]
        return compared_files(*files, **{"resamples": 400, **options})

    return make
