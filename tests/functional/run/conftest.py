"""The real command in a folder of its own."""

from __future__ import annotations

import shutil
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


@pytest.fixture
def streaming_site(tmp_path: Path) -> Path:
    """A folder for ``PYTHONPATH`` that holds a framework that streams, as an installed distribution."""
    folder = tmp_path / "site"
    metadata = folder / "streaming-1.0.dist-info"
    metadata.mkdir(parents=True)
    shutil.copy(Path(__file__).parent / "streaming" / "streaming_agent.py", folder)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: streaming\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[trialbed.frameworks]\nstreaming = streaming_agent:StreamingAgent\n")
    return folder
