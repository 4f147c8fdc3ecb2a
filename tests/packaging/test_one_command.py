"""On a machine that has Trialbed and nothing else, one command builds what a framework needs, and runs it.

That frameworks which exclude each other run side by side is shown where the checkout is installed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from support.distributions import Installation, Wheels

pytestmark = pytest.mark.packaging(40)

FRAMEWORK = "openai-agents"


def test_one_command_builds_what_a_framework_needs_and_runs_it(
    wheels: Wheels, new_installation: Callable[..., Installation], tmp_path: Path
) -> None:
    # The adapters lie beside the wheel that Trialbed is installed from, as they do on an index.
    folder = tmp_path / "wheels"
    folder.mkdir()
    for wheel in (wheels.wheel, *wheels.adapters.values()):
        shutil.copy(wheel, folder)
    only_trialbed = new_installation(wheel=folder / wheels.wheel.name)
    flags = ("--framework", FRAMEWORK, "--framework", "reference")
    # uv's cache is the machine's: what was downloaded for other tests is not downloaded again.
    cache = os.environ.get("UV_CACHE_DIR") or str(Path.home() / ".cache" / "uv")
    done = only_trialbed.bench(
        "run", *flags, "--yes", "--limit", "3", cwd=tmp_path, limit=1200, COLUMNS="200", UV_CACHE_DIR=cache
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("  ")[0] for line in done.stdout.splitlines()]
    assert rows.index("reference") == rows.index(f"{FRAMEWORK}:native") + 1
    assert sum(line.startswith(f"{FRAMEWORK}: own environment") for line in done.stderr.splitlines()) <= 1
    document = json.loads((tmp_path / "results" / "tools" / f"{FRAMEWORK}@native_mini.json").read_text())
    assert document["summary"]["average_api_call_score"] == 1.0
    about = document["metadata"]
    assert any(line.startswith(f"trialbed-{FRAMEWORK}==") for line in about["packages"])
    lock = only_trialbed.bench("env", "lock", FRAMEWORK, cwd=tmp_path)
    for wheel in (wheels.wheel, wheels.adapters[FRAMEWORK]):
        assert (folder / wheel.name).as_uri() in lock.stdout
    assert sha256(lock.stdout.encode()).hexdigest() == about["lock_digest"]
