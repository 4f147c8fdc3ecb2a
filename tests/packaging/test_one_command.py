"""On a machine that has Trialbed and nothing else, one command runs frameworks that cannot be installed together."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from support.distributions import Installation, Wheels

pytestmark = pytest.mark.packaging

FRAMEWORKS = ("crewai", "openai-agents")
"""Two that ask for different major versions of the same package; all are run where the checkout is installed."""


def test_one_command_runs_frameworks_that_exclude_each_other(
    wheels: Wheels, new_installation: Callable[..., Installation], tmp_path: Path
) -> None:
    # The adapters lie beside the wheel that Trialbed is installed from, as they do on an index.
    folder = tmp_path / "wheels"
    folder.mkdir()
    for wheel in (wheels.wheel, *wheels.adapters.values()):
        shutil.copy(wheel, folder)
    only_trialbed = new_installation(folder / wheels.wheel.name)
    flags = [flag for framework in FRAMEWORKS for flag in ("--framework", framework)]
    # uv's cache is the machine's: what was downloaded for other tests is not downloaded again.
    cache = os.environ.get("UV_CACHE_DIR") or str(Path.home() / ".cache" / "uv")
    done = only_trialbed.bench(
        "run", *flags, "--yes", "--limit", "3", cwd=tmp_path, limit=1200, COLUMNS="200", UV_CACHE_DIR=cache
    )
    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()
    header = next(line for line in done.stdout.splitlines() if all(name in line for name in FRAMEWORKS))
    assert header.split() == list(FRAMEWORKS)
    for framework in FRAMEWORKS:
        assert sum(line.startswith(f"{framework}: own environment") for line in said) <= 1
        document = json.loads((tmp_path / "results" / "tools" / f"{framework}_mini.json").read_text())
        assert document["summary"]["average_api_call_score"] == 1.0
        about = document["metadata"]
        assert any(line.startswith(f"trialbed-{framework}==") for line in about["packages"])
        lock = only_trialbed.bench("env", "lock", framework, cwd=tmp_path)
        for wheel in (wheels.wheel, wheels.adapters[framework]):
            name = wheel.name.split("-")[0].replace("_", "-")
            assert f"{name} @ {(folder / wheel.name).as_uri()}" in lock.stdout.splitlines()
        assert sha256(lock.stdout.encode()).hexdigest() == about["lock_digest"]
