"""On a machine that has Trialbed and nothing else, one command runs five frameworks and prints one table."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.distributions import Installation, Wheels

pytestmark = pytest.mark.packaging

FRAMEWORKS = ("langgraph", "crewai", "autogen", "openai-agents", "agno")


def test_one_command_runs_five_frameworks(
    wheels: Wheels, new_installation: Callable[..., Installation], tmp_path: Path
) -> None:
    # The adapters lie beside the wheel that Trialbed is installed from, as they do on an index.
    shelf = tmp_path / "wheels"
    shelf.mkdir()
    for wheel in (wheels.wheel, *wheels.adapters.values()):
        shutil.copy(wheel, shelf)
    only_trialbed = new_installation(shelf / wheels.wheel.name)
    flags = [flag for framework in FRAMEWORKS for flag in ("--framework", framework)]
    # uv's cache is the machine's: what was downloaded for other tests is not downloaded again.
    cache = os.environ.get("UV_CACHE_DIR") or str(Path.home() / ".cache" / "uv")
    done = only_trialbed.bench(
        "run", *flags, "--yes", "--limit", "3", cwd=tmp_path, limit=1200, COLUMNS="200", UV_CACHE_DIR=cache
    )
    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()
    header = next(line for line in done.stdout.splitlines() if "langgraph" in line and "agno" in line)
    assert header.split() == list(FRAMEWORKS)
    for framework in FRAMEWORKS:
        assert sum(line.startswith(f"{framework}: own environment") for line in said) <= 1
        document = json.loads((tmp_path / "results" / "tools" / f"{framework}_mini.json").read_text())
        assert document["summary"]["average_api_call_score"] == 1.0
        about = document["metadata"]
        assert len(about["lock_digest"]) == 64
        assert any(line.startswith(f"trialbed-{framework}==") for line in about["packages"])
