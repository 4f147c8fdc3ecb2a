"""What a worker starts ends with it, wherever it has got to and whatever ends the worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest
from support.processes import family, wait_until, wait_until_ended

from trialbed.worker import SUPERVISED
from trialbed_plugins.executors.local import LocalExecutor

pytestmark = [
    pytest.mark.usefixtures("hostile_distribution"),
    pytest.mark.skipif(not SUPERVISED, reason="only Linux gives orphans back to a supervisor"),
]

ENGINE = """
import asyncio, sys
from trialbed.records import TrialSpec
from trialbed_plugins.executors.local import LocalExecutor

async def main():
    async with LocalExecutor() as executor:
        await executor.execute(TrialSpec.model_validate_json(sys.argv[1]))

asyncio.run(main())
"""


@pytest.fixture
def daemon(tmp_path, monkeypatch):
    """The file in which a daemon without environment, session and parent writes its process id."""
    monkeypatch.setenv("HOSTILE_FOLDER", str(tmp_path))
    monkeypatch.setenv("TRIALBED_PASS_ENV", "HOSTILE_FOLDER")
    return tmp_path / "daemon"


@pytest.mark.parametrize(
    ("query", "seconds", "kind"),
    [
        ("leave a bare daemon", 60.0, None),
        ("crash beside a bare daemon", 60.0, "crash"),
        pytest.param("hang beside a bare daemon", 5.0, "timeout", marks=pytest.mark.slow),
    ],
)
async def test_a_daemon_that_cut_every_tie_is_ended(make_spec, daemon, query, seconds, kind):
    async with LocalExecutor() as executor:
        outcome = await executor.execute(make_spec(query, timeout=seconds))
        assert not psutil.pid_exists(int(daemon.read_text()))
    assert (outcome.failure.kind if outcome.failure else None) == kind, outcome.failure


def test_it_ends_with_an_engine_that_is_killed(make_spec, daemon):
    spec = make_spec("hang beside a bare daemon", timeout=300.0)
    with subprocess.Popen([sys.executable, "-c", ENGINE, spec.model_dump_json()]) as engine:
        wait_until(daemon.exists)
        below = family(engine.pid)
        os.kill(engine.pid, signal.SIGKILL)
    assert int(daemon.read_text()) in {process.pid for process in below}
    wait_until_ended(below)


@pytest.mark.slow
async def test_a_supervisor_that_is_stopped_costs_no_trial(make_spec):
    """``hostile/test_attacks.py`` has what it costs to kill it."""
    async with LocalExecutor() as executor:
        outcome = await executor.execute(make_spec("stop the parent", timeout=5.0))
        following = await executor.execute(make_spec("good"))
    assert (outcome.failure, following.failure) == (None, None)
    assert following.answer is not None
