"""What a worker does about what a trial leaves: its tasks and its context."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any

import pytest

from trialbed.contracts import BaseAgent
from trialbed.records import FrameworkInfo
from trialbed.worker import _loop
from trialbed.worker._protocol import Hello


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as found:
        yield found


def leak(runner: asyncio.Runner, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
    """Run a trial that leaves this task; the task."""

    async def trial() -> asyncio.Task[None]:
        task = asyncio.ensure_future(work())
        await asyncio.sleep(0)
        return task

    return runner.run(trial())


async def sleeps() -> None:
    await asyncio.sleep(3600)


async def exits() -> None:
    try:
        await sleeps()
    finally:
        raise SystemExit(5)


def test_tasks_that_a_trial_leaves_are_ended_before_the_next(runner: asyncio.Runner) -> None:
    task = leak(runner, sleeps)
    assert _loop._cancel_leaked_tasks(runner)
    assert task.cancelled()
    assert _loop._cancel_leaked_tasks(runner), "nothing is left"


def test_a_worker_is_not_used_again_if_a_task_does_not_end(
    runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_loop, "SETTLE", 0.01)
    let_go = asyncio.Event()

    async def resists() -> None:
        while not let_go.is_set():
            with suppress(asyncio.CancelledError):
                await let_go.wait()

    task = leak(runner, resists)
    ended = _loop._cancel_leaked_tasks(runner), task.done()
    let_go.set()  # else the loop could not be closed
    assert ended == (False, False)


def test_a_worker_is_not_used_again_if_a_task_ends_the_loop(runner: asyncio.Runner) -> None:
    leak(runner, exits)
    assert not _loop._cancel_leaked_tasks(runner)


class Wire:
    """What a worker is sent and sends, without an executor."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def receive(self) -> Hello:
        return Hello(nonce="n")

    def send(self, message: object) -> None:
        self.sent.append(type(message).__name__)


@pytest.mark.parametrize("fails", [False, True])
def test_no_garbage_is_searched_for_while_a_framework_is_imported(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    wire, searched = Wire(), []

    def load(_: str) -> tuple[type[BaseAgent], FrameworkInfo]:
        searched.append(gc.isenabled())
        if fails:
            raise ImportError("it is not there")
        return BaseAgent, FrameworkInfo(name="f", version="1", adapter="a", adapter_version="1", python="3")

    def run(*_: object, **__: object) -> int:
        searched.append(gc.isenabled())
        return 0

    monkeypatch.setattr(_loop.Channel, "take_over", lambda: wire)
    monkeypatch.setattr(_loop, "load_agent", load)
    monkeypatch.setattr(_loop, "_run_trials", run)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    try:
        assert _loop.serve("f") == 0
    finally:
        gc.enable()
    assert (wire.sent, searched) == ((["Failed"], [False]) if fails else (["Ready"], [False, True]))
