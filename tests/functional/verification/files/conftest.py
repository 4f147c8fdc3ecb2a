"""The real command in a folder of result files."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bench import Bench, bench_in, own_environment


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Run ``bench`` with these arguments in the test's folder and return how it ended."""
    return bench_in(tmp_path, own_environment(COLUMNS="100"))
