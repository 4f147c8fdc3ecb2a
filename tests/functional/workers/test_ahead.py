"""Trials of which a worker learns while another one runs."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from trialbed.records import Outcome, TrialSpec
from trialbed_plugins.executors.local import LocalExecutor

pytestmark = pytest.mark.usefixtures("hostile_distribution")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where agents find what they wait for."""
    monkeypatch.setenv("HOSTILE_FOLDER", str(tmp_path))
    return tmp_path


async def beside(executor: LocalExecutor, first: TrialSpec, *expected: TrialSpec) -> Outcome:
    """Run a trial; the executor learns of others while it runs, and before it can end."""
    running = asyncio.create_task(executor.execute(first))
    await asyncio.sleep(0)
    for spec in expected:
        executor.expect(spec)
    return await running


def pid(outcome: Outcome) -> str:
    assert outcome.failure is None
    return outcome.answer.final_answer


@pytest.mark.parametrize("concurrency", [1, 4])
async def test_a_worker_learns_of_its_next_trial_ahead(make_spec, concurrency):
    executor = LocalExecutor()
    executor.concurrency = concurrency
    async with executor:
        await executor.execute(make_spec("pid"))
        (worker,) = executor._workers
        first, second, third = (make_spec("pid") for _ in range(3))
        ended, prepared = [], []
        for spec, following in ((first, second), (second, third)):
            ended.append(await beside(executor, spec, following))
            prepared.append(worker.prepared)
        ended.append(await executor.execute(third))
    assert len(set(map(pid, ended))) == 1
    assert prepared == [second.trial, third.trial]


async def test_a_trial_of_which_a_worker_knew_ahead_is_the_same(make_spec):
    async with LocalExecutor() as executor:
        plain = await executor.execute(make_spec("randomness", seed=3))
        ahead = make_spec("randomness", seed=3)
        await beside(executor, make_spec("pid"), ahead)
        assert (await executor.execute(ahead)).answer == plain.answer
        # Another one begins instead.
        await beside(executor, make_spec("pid"), make_spec("raise error"))
        assert (await executor.execute(make_spec("randomness", seed=3))).answer == plain.answer


@pytest.mark.parametrize("query", ["raise error", "exit", "end at the next trial"])
async def test_a_trial_does_not_pay_for_the_end_of_the_worker_that_knew_of_it(make_spec, query):
    async with LocalExecutor() as executor:
        await executor.execute(make_spec("pid"))
        following = make_spec("pid")
        await beside(executor, make_spec(query), following)
        after = await executor.execute(following)
    assert after.failure is None
    assert after.first


async def test_a_trial_does_not_pay_for_the_deadline_of_another(make_spec, folder):
    async with LocalExecutor() as executor:
        await executor.execute(make_spec("pid"))
        following = make_spec("pid")
        late = await beside(executor, make_spec("wait to go", timeout=0.5), following)
        after = await executor.execute(following)
    assert late.failure.kind == "timeout"
    assert (after.failure, after.first) == (None, True)


async def test_agents_are_not_made_ahead_any_more_where_processes_are_found_after_a_trial(make_spec, caplog):
    async with LocalExecutor() as executor:
        await executor.execute(make_spec("pid"))
        following = make_spec("pid")
        await beside(executor, make_spec("leave a child"), following)
        assert re.search(r"left 1 process\(es\) running, or the next trial's agent started them;", caplog.text)
        await beside(executor, following, make_spec("pid"))
        assert not any(worker.prepared for worker in executor._workers)
