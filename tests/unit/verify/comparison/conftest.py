"""Files of vendors, compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.vendor_rows import own_file

from trialbed_verify.comparison import CompareOptions, compare, read_one
from trialbed_verify.documents import as_document
from trialbed_verify.vendor_rows import FileRows

Outcomes = Sequence[Sequence[str] | str]
Compared = Callable[..., dict[str, Any]]


@pytest.fixture
def compared(tmp_path: Path) -> Compared:
    """Compares a vendor with a baseline, each given by the outcomes of its cases."""

    def make(baseline: Outcomes, vendor: Outcomes, **options: Any) -> dict[str, Any]:
        files = [own_file(tmp_path / f"{name}.jsonl", ends) for name, ends in (("base", baseline), ("acme", vendor))]
        chosen = CompareOptions(**{"resamples": 400, **options})
        (document,) = as_document(compare(read_one(FileRows(files[0])), [read_one(FileRows(files[1]))], chosen))
        return document

    return make
