"""When a worker is used again, and when it is replaced."""

from __future__ import annotations

import asyncio

import psutil
import pytest
from support.processes import wait_until_ended

from trialbed.worker import SUPERVISED
from trialbed_plugins.executors.local import LocalExecutor

pytestmark = pytest.mark.usefixtures("hostile_distribution")


forked = pytest.mark.usefixtures("quick_start")


async def pids(executor, make_spec, *queries):
    """The process ids that trials answered with, in order."""
    outcomes = [await executor.execute(make_spec(query)) for query in queries]
    assert [outcome.failure for outcome in outcomes] == [None] * len(queries)
    return [outcome.answer.final_answer for outcome in outcomes]


@forked
async def test_a_worker_is_replaced_after_a_failure(make_spec):
    async with LocalExecutor() as executor:
        (before,) = await pids(executor, make_spec, "pid")
        loaded = set(psutil.Process().children())
        failed = await executor.execute(make_spec("raise error"))
        (after,) = await pids(executor, make_spec, "pid")
        assert not SUPERVISED or set(psutil.Process().children()) == loaded  # both were forked
    assert failed.failure.kind == "agent"
    assert before != after


@pytest.mark.skipif(not SUPERVISED, reason="workers are not forked here")
async def test_a_process_that_has_loaded_the_adapter_is_started_anew_if_it_is_killed(make_spec):
    others = psutil.Process().children()
    async with LocalExecutor() as executor:
        (before,) = await pids(executor, make_spec, "pid")
        (supervisor,) = set(psutil.Process().children()) - set(others)
        worker = psutil.Process(int(before))
        supervisor.children()[0].kill()
        await asyncio.to_thread(wait_until_ended, [worker])
        (after,) = await pids(executor, make_spec, "pid")
    assert before != after


@forked
async def test_a_worker_runs_a_bounded_number_of_trials(make_spec, monkeypatch):
    monkeypatch.setattr("trialbed_plugins.executors._worker.TRIALS", 2)
    async with LocalExecutor() as executor:
        first, second, third = await pids(executor, make_spec, "pid", "pid", "pid")
    assert first == second != third


@forked
@pytest.mark.parametrize(("held", "replaced"), [(400, False), (600, True)])
async def test_a_worker_that_holds_half_the_memory_that_it_may_is_replaced(make_spec, monkeypatch, held, replaced):
    monkeypatch.setattr("trialbed_plugins.executors._processes.resident_bytes", lambda *_, **__: held)
    async with LocalExecutor(memory_limit=1000) as executor:
        first, second = await pids(executor, make_spec, "pid", "pid")
    assert (first != second) is replaced


@forked
async def test_a_trial_whose_worker_is_lost_before_it_begins_gets_a_new_one(make_spec, caplog):
    async with LocalExecutor() as executor:
        before = await executor.execute(make_spec("end at the next trial"))
        after = await executor.execute(make_spec("pid"))
    assert (before.failure, after.failure) == (None, None)
    assert after.first
    assert after.answer.final_answer != before.answer.final_answer
    assert "a worker was lost between trials: the worker ended on its own with exit code 9" in caplog.text


@forked
async def test_a_fresh_worker_that_does_not_begin_its_trial_fails_it(make_spec):
    async with LocalExecutor() as executor, asyncio.timeout(60):
        outcome = await executor.execute(make_spec("pid", "ending"))
    assert (outcome.failure.kind, outcome.first) == ("crash", True), outcome.failure
    assert "exit code 9" in outcome.failure.message


@forked
async def test_the_next_trial_has_its_loop_to_itself(make_spec):
    async with LocalExecutor() as executor:
        (before,) = await pids(executor, make_spec, "leak a task")
        (tasks,) = await pids(executor, make_spec, "count the tasks")
    assert tasks == f"{before} 1"


SPOILING = (
    "leak a stubborn task",
    "leak descriptors",
    "leak threads",
    "lower the limits",
    "remove modules",
    "replace functions",
    "change the clocks",
    "change folder",
    "remove folder",
)


@pytest.mark.slow
async def test_the_next_trial_does_not_pay(make_spec):
    async with LocalExecutor() as executor:
        # The worker of one "pid" is the one that the next trial spoils.
        answers = await pids(executor, make_spec, *(query for spoiling in SPOILING for query in (spoiling, "pid")))
    spoilt, following = answers[::2], answers[1::2]
    assert [query for query, one, next_one in zip(SPOILING, spoilt, following, strict=True) if one == next_one] == []
    assert spoilt[1:] == following[:-1]
