"""The real command in a folder of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.bench import Bench, bench_in, own_environment


@pytest.fixture
def bench_environment(tmp_path: Path) -> dict[str, str]:
    """An environment without anybody's settings or keys."""
    environment = own_environment(TRIALBED_DATA_DIR=str(tmp_path / "data"))
    return {name: value for name, value in environment.items() if "KEY" not in name}


FRAMEWORKS = ("reference", "langgraph", "crewai", "autogen", "openai-agents", "agno")


@pytest.fixture(scope="session")
def env_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the frameworks' own environments are; built once for all tests, or before them."""
    return Path(os.environ.get("TRIALBED_TEST_ENV_DIR") or tmp_path_factory.mktemp("environments"))


@pytest.fixture(scope="session")
def every_framework(env_dir: Path) -> list[str]:
    """The options that run all six, the four that are not installed here in environments of their own."""
    flags = [flag for framework in FRAMEWORKS for flag in ("--framework", framework)]
    return [*flags, "--yes", "--env-dir", str(env_dir)]


@pytest.fixture
def bench(tmp_path: Path, bench_environment: dict[str, str]) -> Bench:
    """Run ``bench`` with these arguments in an empty folder and return how it ended."""
    return bench_in(tmp_path, bench_environment, timeout=900)
