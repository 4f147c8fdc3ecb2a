"""Deadlines and wall times are the engine's, and hold when the engine is held up."""

from __future__ import annotations

import asyncio
import time

import pytest

from trialbed_plugins.executors.local import LocalExecutor

pytestmark = pytest.mark.usefixtures("hostile_distribution", "quick_start")


async def test_an_answer_given_while_the_engine_was_held_up_is_no_timeout(make_spec, tmp_path, monkeypatch):
    monkeypatch.setenv("HOSTILE_FOLDER", str(tmp_path))
    monkeypatch.setenv("TRIALBED_PASS_ENV", "HOSTILE_FOLDER")
    async with LocalExecutor() as executor:
        trial = asyncio.create_task(executor.execute(make_spec("answer when told", timeout=2.0)))
        async with asyncio.timeout(60):
            while not (tmp_path / "ready").exists():  # noqa: ASYNC110 - another process makes the file
                await asyncio.sleep(0.01)
        (tmp_path / "go").touch()
        time.sleep(3.0)  # noqa: ASYNC251 - holds the event loop up, as Ctrl-Z does
        outcome = await trial
    assert outcome.answer is not None, outcome.failure
    assert outcome.wall_time < 3.0


async def test_a_worker_that_changes_its_clocks_changes_no_time(make_spec):
    async with LocalExecutor() as executor:
        before = time.monotonic()
        outcome = await executor.execute(make_spec("change the clocks"))
        elapsed = time.monotonic() - before
        following = await executor.execute(make_spec("good"))
    assert outcome.answer is not None, outcome.failure
    # The agent sleeps for half a second; the message that it begins may be read late.
    assert 0.1 <= outcome.wall_time <= elapsed
    assert following.answer is not None, following.failure
    assert abs(outcome.started_at.timestamp() - time.time()) < 3600
