"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest_plugins = ["support.distributions"]

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def stabletoolbench_dir() -> Path:
    """A folder with StableToolBench's data; tests that need it skip where it is absent."""
    data = Path(os.environ.get("TRIALBED_TEST_DATA", ROOT.parent / "shared" / "data"))
    folder = data / "stabletoolbench"
    if not folder.is_dir():
        pytest.skip(f"StableToolBench's data is not at {folder}; set TRIALBED_TEST_DATA to the folder that holds it")
    return folder
