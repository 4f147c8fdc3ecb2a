"""The real command in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bench import Bench, bench_in, own_environment


@pytest.fixture
def bench_environment(tmp_path: Path) -> dict[str, str]:
    """An environment without anybody's settings or keys."""
    environment = own_environment(TRIALBED_DATA_DIR=str(tmp_path / "data"))
    return {name: value for name, value in environment.items() if "KEY" not in name}


@pytest.fixture
def bench(tmp_path: Path, bench_environment: dict[str, str]) -> Bench:
    """Run ``bench`` with these arguments in an empty folder and return how it ended."""
    return bench_in(tmp_path, bench_environment, timeout=900)
