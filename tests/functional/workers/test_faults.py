"""Hostile agents cost their own trial, with the right kind, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from trialbed_adapter_lab.hostile import ATTACKS, Attack
from trialbed_plugins.executors.local import LocalExecutor

pytestmark = [pytest.mark.slow(45), pytest.mark.usefixtures("hostile_distribution")]


FAULTS = [attack for attack in ATTACKS if attack.kind]


@pytest.mark.parametrize("attack", FAULTS, ids=lambda attack: attack.name)
async def test_a_fault_costs_exactly_one_trial(make_spec, attack: Attack):
    async with LocalExecutor(memory_limit=300 << 20) as executor:
        before = await executor.execute(make_spec("good"))
        timeout = 2.0 if attack.kind == "timeout" else 60.0
        outcome = await executor.execute(make_spec(attack.name, timeout=timeout))
        following = await executor.execute(make_spec("good"))
    assert before.answer is not None, before.failure
    assert outcome.answer is None
    assert outcome.failure is not None
    assert (outcome.failure.kind, attack.message in outcome.failure.message) == (attack.kind, True), outcome.failure
    assert following.answer is not None, following.failure


async def test_processes_left_behind_are_noted(make_spec, caplog):
    async with LocalExecutor() as executor:
        await executor.execute(make_spec("leave a child"))
    assert "left 1 process(es) running" in caplog.text


@pytest.mark.parametrize(("query", "kind"), [("fork", None), ("hang", "timeout"), ("exit", "agent"), ("go", None)])
async def test_an_agent_may_answer_without_async(make_spec, query, kind):
    async with LocalExecutor() as executor:
        timeout = 3.0 if kind == "timeout" else 60.0
        outcome = await executor.execute(make_spec(query, "blocking", timeout=timeout))
        following = await executor.execute(make_spec("go", "blocking"))
    assert (outcome.failure.kind if outcome.failure else None) == kind
    assert following.answer is not None, following.failure


async def test_a_failing_close_takes_no_answer_and_does_not_hide_the_first_error(make_spec, caplog):
    async with LocalExecutor() as executor:
        fine = await executor.execute(make_spec("fine", "badly-closing"))
        worse = await executor.execute(make_spec("raise", "badly-closing"))
    assert fine.answer is not None, fine.failure
    assert "a worker was replaced: close() raised RuntimeError: second; the trial stays as it is" in caplog.text
    assert worse.failure.message == "ValueError: first"
    assert "close() then raised RuntimeError: second" in worse.failure.detail


async def test_a_crash_keeps_the_last_words(make_spec):
    async with LocalExecutor() as executor:
        outcome = await executor.execute(make_spec("exit code"))
    assert "last words" in outcome.failure.detail


async def test_a_hang_says_where(make_spec):
    async with LocalExecutor() as executor:
        outcome = await executor.execute(make_spec("hold the lock", timeout=3.0))
    assert "in hold_the_lock" in outcome.failure.detail


async def test_what_a_thread_does_after_its_trial_does_not_cost_the_next(make_spec, tmp_path, monkeypatch):
    monkeypatch.setenv("HOSTILE_FOLDER", str(tmp_path))
    async with LocalExecutor() as executor:
        first = await executor.execute(make_spec("late garbage"))
        (tmp_path / "go").touch()
        async with asyncio.timeout(60):
            while not (tmp_path / "gone").exists():  # noqa: ASYNC110 - another process makes the file
                await asyncio.sleep(0.01)
        second = await executor.execute(make_spec("pid"))
    assert second.answer is not None, second.failure
    assert second.answer.final_answer != first.answer.final_answer


async def test_time_spent_waiting_for_the_models_endpoint_moves_the_deadline(make_spec, tmp_path, monkeypatch):
    monkeypatch.setenv("HOSTILE_FOLDER", str(tmp_path))

    async def waited(_trial):
        (tmp_path / "go").touch()
        return 60.0

    async with LocalExecutor() as executor:
        executor.waited = waited
        outcome = await executor.execute(make_spec("wait to go", timeout=0.2))
    assert outcome.failure is None
