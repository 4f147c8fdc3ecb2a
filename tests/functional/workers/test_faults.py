"""Hostile agents cost their own trial, with the right kind, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from trialbed_plugins.executors.local import LocalExecutor

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("hostile_distribution")]

FAULTS = [
    ("exit code", "crash", "exit code 3"),
    ("segfault", "crash", "SIGSEGV"),
    ("close everything", "crash", "worker"),
    ("sleep", "timeout", "2 s"),
    ("busy loop", "timeout", "2 s"),
    ("blocking sleep", "timeout", "2 s"),
    ("hold the lock", "timeout", "2 s"),
    ("hang with children", "timeout", "2 s"),
    ("crash beside a daemon", "crash", "exit code 3"),
    ("forge", "protocol", "nonce"),
    ("garbage", "protocol", "not a message"),
    ("endless line", "protocol", "32 MiB"),
    ("giant answer", "protocol", "32 MiB"),
    ("grow", "memory", "limit of 300 MiB"),
    ("grow in a child", "memory", "limit of 300 MiB"),
    ("no memory", "memory", "MemoryError"),
    ("raise error", "agent", "ValueError: the framework does not like this"),
    ("raise unprintable", "agent", "Unprintable"),
    ("raise system exit", "agent", "SystemExit: 4"),
    ("raise interrupt", "agent", "KeyboardInterrupt"),
    ("raise cancelled", "agent", "CancelledError"),
    ("exit in a task", "agent", "SystemExit: 5"),
    ("model down", "model", "status 500: down"),
    ("wrong type", "answer", "must be an object, not int"),
    ("bad node", "answer", "answer.answer_details[0].message"),
    ("not json", "answer", "cannot be written as JSON"),
]

HARMLESS = [
    "fork and return twice",
    "fork in thread",
    "leave a child",
    "leave a daemon",
    "print",
    "flood",
    "leak a task",
    "leak a stubborn task",
]


@pytest.mark.parametrize(("query", "kind", "text"), FAULTS, ids=[fault[0] for fault in FAULTS])
async def test_a_fault_costs_exactly_one_trial(make_spec, query, kind, text):
    async with LocalExecutor(memory_limit=300 << 20) as executor:
        before = await executor.execute(make_spec("good"))
        timeout = 2.0 if kind == "timeout" else 60.0
        outcome = await executor.execute(make_spec(query, timeout=timeout))
        following = await executor.execute(make_spec("good"))
    assert before.answer is not None, before.failure
    assert outcome.answer is None
    assert outcome.failure is not None
    assert (outcome.failure.kind, text in outcome.failure.message) == (kind, True), outcome.failure
    assert following.answer is not None, following.failure


@pytest.mark.parametrize("query", HARMLESS)
async def test_a_mess_that_is_no_fault_is_cleared_up(make_spec, query):
    async with LocalExecutor() as executor:
        outcome = await executor.execute(make_spec(query))
        following = await executor.execute(make_spec("good"))
    assert outcome.answer is not None, outcome.failure
    assert outcome.answer.final_answer == "fine"
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


async def test_a_failing_close_is_a_failure_and_does_not_hide_the_first_error(make_spec):
    async with LocalExecutor() as executor:
        fine = await executor.execute(make_spec("fine", "badly-closing"))
        worse = await executor.execute(make_spec("raise", "badly-closing"))
    assert fine.failure.message == "RuntimeError: second"
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
