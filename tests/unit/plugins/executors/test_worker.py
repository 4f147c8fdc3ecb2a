"""The engine's end of a worker."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from support.warm import warm_programs

from trialbed.records import Limits, ModelEndpoint, TrialKey, TrialSpec
from trialbed_plugins.executors import _worker
from trialbed_plugins.executors._worker import Stopwatch
from trialbed_plugins.executors.local import LocalExecutor

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def forked() -> Iterator[None]:
    """Workers start without the wait for their imports."""
    with warm_programs():
        yield


def spec(*, fresh: bool = False) -> TrialSpec:
    return TrialSpec(
        trial="trial-token",
        key=TrialKey(framework="reference", query_id=1),
        query="?",
        system_prompt="",
        tools=(),
        endpoint=ModelEndpoint(base_url=f"{NOWHERE}/v1", api_key="none", model="none"),
        limits=Limits(timeout=600),
        server_url=f"{NOWHERE}/virtual",
        fresh=fresh,
    )


@pytest.mark.usefixtures("forked")
async def test_a_hold_up_while_a_trial_begins_is_not_the_trials_time(monkeypatch: pytest.MonkeyPatch) -> None:
    jumped = 0.0
    start = Stopwatch.start

    def held_up_after_it(stopwatch: Stopwatch) -> None:
        nonlocal jumped
        start(stopwatch)
        jumped = 1000.0

    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + jumped)
    monkeypatch.setattr(_worker, "time", clock)
    monkeypatch.setattr(Stopwatch, "start", held_up_after_it)
    async with LocalExecutor() as executor:
        outcome = await executor.execute(spec())
    assert outcome.failure is not None
    assert outcome.failure.kind == "model", outcome.failure
    assert outcome.wall_time < 500


@pytest.mark.usefixtures("forked")
async def test_an_adapter_that_has_loaded_before_is_not_blamed_for_a_slow_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with LocalExecutor() as executor:
        await executor.execute(spec())
        executor._idle.clear()
        monkeypatch.setattr(_worker, "START_LIMIT", 0.0)
        monkeypatch.setattr(_worker, "FORK_LIMIT", 0.0)
        outcome = await executor.execute(spec(fresh=True))
    assert outcome.failure is not None
    assert outcome.failure.kind == "server"
    assert outcome.failure.message in (
        "loading the adapter took more than 0 s, though it had loaded before: this machine was too busy",
        "a worker could not be forked: that took more than 0 s",
    )


async def test_an_adapter_that_never_loads_in_time_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_worker, "START_LIMIT", 0.0)
    async with LocalExecutor() as executor:
        outcome = await executor.execute(spec())
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.message) == ("adapter", "loading the adapter took more than 0 s")


def test_a_fault_of_the_agent_is_the_reason_also_in_a_workers_last_trial() -> None:
    worker = _worker.Worker("reference", 2**30)
    worker._trials, worker._spent = _worker.TRIALS, "close() raised RuntimeError"
    assert (worker.is_at_fault, worker.spent()) == (True, "close() raised RuntimeError")
    worker._spent = ""
    assert (worker.is_at_fault, worker.spent()) == (False, "it ran 500 trials")


async def test_a_worker_whose_end_is_cancelled_leaves_no_pipe_open(monkeypatch: pytest.MonkeyPatch) -> None:
    looking, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def look(_: object) -> None:
        loop.call_soon_threadsafe(looking.set)
        go_on.wait(60)

    monkeypatch.setattr(_worker.processes, "end_marked", look)
    async with LocalExecutor() as executor:
        await executor.describe("reference")
        (worker,) = executor._templates.values() or executor._workers
        ending = asyncio.create_task(worker.end())
        await looking.wait()
        ending.cancel()
        await asyncio.wait([ending])
        closed = worker._transport.is_closing()
        go_on.set()
    assert ending.cancelled()
    assert closed
