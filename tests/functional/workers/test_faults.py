"""What workers say of faults, and what faults leave; ``hostile/test_attacks.py`` has each fault and its cost."""

from __future__ import annotations

import asyncio

import pytest

from trialbed_plugins.executors.local import LocalExecutor

pytestmark = [pytest.mark.slow(10), pytest.mark.usefixtures("hostile_distribution")]


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
    assert "a worker was replaced: close() raised RuntimeError: second; the trial is not affected" in caplog.text
    assert worse.failure.message == "ValueError: first"
    assert "close() then raised RuntimeError: second" in worse.failure.detail


async def test_what_a_thread_does_after_its_trial_does_not_cost_the_next(make_spec, tmp_path, monkeypatch):
    monkeypatch.setenv("HOSTILE_FOLDER", str(tmp_path))
    monkeypatch.setenv("TRIALBED_PASS_ENV", "HOSTILE_FOLDER")
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
    monkeypatch.setenv("TRIALBED_PASS_ENV", "HOSTILE_FOLDER")

    async def waited(_trial):
        (tmp_path / "go").touch()
        return 60.0

    async with LocalExecutor() as executor:
        executor.waited = waited
        outcome = await executor.execute(make_spec("wait to go", timeout=0.2))
    assert outcome.failure is None
