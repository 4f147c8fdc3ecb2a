"""The life of workers: start, reuse, environment, cancellation, and the end of the engine."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from support.processes import family, wait_until, wait_until_ended

from trialbed.errors import ContractMismatch, DriverBroken, DriverNotFound
from trialbed.records import Environment
from trialbed.worker import SUPERVISED
from trialbed_plugins.executors.local import LocalExecutor

pytestmark = [pytest.mark.slow(30), pytest.mark.usefixtures("hostile_distribution")]


async def test_describe_says_what_the_worker_found():
    async with LocalExecutor() as executor:
        info = await executor.describe("hostile")
    assert (info.name, info.version) == ("hostile", "6.6.6")
    assert (info.adapter, info.adapter_version) == ("hostile-agents", "1.2")
    assert [deviation.text for deviation in info.deviations] == ["does harm"]


@pytest.mark.parametrize(
    ("framework", "error", "text"),
    [
        ("absent", DriverNotFound, "pip install trialbed-absent"),
        ("other-contract", ContractMismatch, "hostile-agents 1.2 is written for contract '0'"),
        ("no-agent", DriverBroken, "not a subclass of trialbed.BaseAgent"),
        ("broken-import", DriverBroken, "hostile-agents 1.2 cannot be loaded.*libneeded.so"),
        ("crashing-import", DriverBroken, "(?s)SIGABRT.*aborting in native code"),
    ],
)
async def test_an_adapter_that_cannot_be_used_is_named(make_spec, framework, error, text):
    async with LocalExecutor() as executor:
        with pytest.raises(error, match=text):
            await executor.describe(framework)
        outcome = await executor.execute(make_spec("good", framework))
        other = await executor.execute(make_spec("good"))
    assert outcome.failure.kind == "adapter"
    assert other.answer is not None, other.failure


async def test_an_interpreter_that_is_not_there_is_named(make_spec):
    async with LocalExecutor(environments={"hostile": Environment(python="/nowhere/python", lock="")}) as executor:
        outcome = await executor.execute(make_spec("good"))
        with pytest.raises(DriverBroken, match="/nowhere/python cannot be started"):
            await executor.describe("hostile")
    assert "/nowhere/python" in outcome.failure.message


async def test_a_worker_has_no_secrets_and_no_telemetry(make_spec, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-key-of-the-user")
    monkeypatch.setenv("MY_SERVICE_TOKEN", "hunter2hunter2")
    monkeypatch.setenv("DATABASE_URL", "postgresql://me:hunter3hunter3@db/bench")
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setenv("LC_MESSAGES", "C")
    async with LocalExecutor() as executor:
        outcome = await executor.execute(make_spec("environment"))
    lines = outcome.answer.final_answer.splitlines()
    assert not [line for line in lines if "sk-real" in line or "hunter" in line or line.startswith("OPENAI_API_KEY")]
    assert {"LC_MESSAGES=C", "LANGSMITH_TRACING=false", "CREWAI_DISABLE_TELEMETRY=true"} <= set(lines)


async def test_a_worker_works_in_an_empty_folder_that_goes_away(make_spec):
    async with LocalExecutor() as executor:
        outcome = await executor.execute(make_spec("folder"))
        folder = Path(outcome.answer.final_answer)
        assert list(folder.iterdir()) == []  # noqa: ASYNC240 - a test may block
    assert folder != Path.cwd()
    assert not folder.exists()  # noqa: ASYNC240 - a test may block


async def test_the_random_state_comes_from_the_trial_alone(make_spec):
    async with LocalExecutor() as executor:
        seeds = [7, 8, 7]
        outcomes = [await executor.execute(make_spec("randomness", seed=seed)) for seed in seeds]
    first, other, again = (outcome.answer.final_answer for outcome in outcomes)
    assert first == again != other


async def test_a_trial_does_not_see_the_context_of_the_one_before(make_spec):
    async with LocalExecutor() as executor:
        outcomes = [await executor.execute(make_spec("context")) for _ in range(2)]
    assert [outcome.answer.final_answer for outcome in outcomes] == ["nobody"] * 2


async def test_cancelling_a_trial_ends_its_worker(make_spec, hostile_distribution):
    others = psutil.Process().children()
    async with LocalExecutor() as executor:
        await executor.describe("hostile")
        (started,) = set(psutil.Process().children()) - set(others)
        worker = _worker(started)
        supervisor = worker.parent() if SUPERVISED else worker
        task = asyncio.create_task(executor.execute(make_spec("hang with children")))
        async with asyncio.timeout(60):
            while len(worker.children()) == 0:  # noqa: ASYNC110 - another process does it
                await asyncio.sleep(0.01)
        below = [supervisor, *family(supervisor.pid)]
        assert worker in below
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # What was killed may take a moment to be gone.
        await asyncio.to_thread(wait_until_ended, below)
        following = await executor.execute(make_spec("good"))
    assert following.answer is not None, following.failure


async def test_the_memory_limit_can_be_set_by_a_variable(make_spec, monkeypatch):
    monkeypatch.setenv("TRIALBED_MEMORY_LIMIT", "200M")
    async with LocalExecutor() as executor:
        outcome = await executor.execute(make_spec("grow"))
    assert "limit of 200 MiB" in outcome.failure.message


ENGINE = """
import asyncio, sys
from trialbed.records import TrialSpec
from trialbed.records import Environment
from trialbed_plugins.executors.local import LocalExecutor

async def main():
    async with LocalExecutor() as executor:
        await executor.describe("hostile")
        sys.stdout.write("busy\\n")
        sys.stdout.flush()
        await executor.execute(TrialSpec.model_validate_json(sys.argv[1]))

asyncio.run(main())
"""


@pytest.mark.parametrize("query", ["blocking sleep", "hang with children", "hold the lock"])
def test_workers_end_with_an_engine_that_is_killed(make_spec, query):
    # Without a supervisor, a worker that holds the interpreter's lock ends at its own deadline.
    timeout = 1.0 if query == "hold the lock" and not SUPERVISED else 300.0
    command = [sys.executable, "-c", ENGINE, make_spec(query, timeout=timeout).model_dump_json()]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as engine:
        assert engine.stdout.readline() == b"busy\n"
        worker = _worker(*psutil.Process(engine.pid).children())
        idle = worker.cpu_times().user + 0.2
        if query == "hang with children":
            wait_until(lambda: len(worker.children()) == 1)
        if query == "hold the lock":
            wait_until(lambda: worker.cpu_times().user > idle)
        below = family(engine.pid)
        assert worker in below
        os.kill(engine.pid, signal.SIGKILL)
    wait_until_ended(below)


def _worker(started):
    """The process that runs the trials: below its supervisor, the one that it is forked from, and its supervisor."""
    return started.children()[0].children()[0].children()[0] if SUPERVISED else started
