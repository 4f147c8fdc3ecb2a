"""What a worker does about agents that are made ahead, and about what a trial leaves: its tasks and its context."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from contextvars import ContextVar, copy_context
from typing import Any, ClassVar, cast

import httpx
import pytest

from trialbed.contracts import BaseAgent
from trialbed.records import Answer, Limits, ModelEndpoint, TrialKey, TrialSpec
from trialbed.tools import BlockingClient
from trialbed.worker import Begin, BeginPrepared, Prepare, _loop
from trialbed.worker._channel import Channel


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


def test_a_trial_does_not_see_the_context_of_the_one_before(runner: asyncio.Runner) -> None:
    user: ContextVar[str] = ContextVar("user", default="nobody")
    seen = []

    class SettingTrial:
        def __init__(self) -> None:
            self.context = copy_context()

        async def run(self, *_: object) -> None:
            seen.append(user.get())
            user.set("somebody")

    for _ in range(2):
        _loop._run_trial(runner, SettingTrial(), BaseAgent, httpx.AsyncClient(), BlockingClient())
    assert seen == ["nobody", "nobody"]


class Noted(BaseAgent):
    """Writes down what becomes of it."""

    contract = "3"
    log: ClassVar[list[tuple[str, str]]] = []
    model: ContextVar[str] = ContextVar("model", default="none")

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.model.set(self.endpoint.model)
        self.drawn = random.random()
        self.log.append(("made", self.endpoint.model))
        if self.endpoint.model == "broken":
            raise ValueError("no such model")

    async def answer(self, query: str) -> Answer:
        self.log.append(("answers", self.model.get()))
        return Answer(final_answer=f"{query} {self.drawn}")

    def close(self) -> None:
        self.log.append(("closed", self.endpoint.model))
        if self.endpoint.model == "stays":
            raise ValueError("it stays open")


class Replies:
    """Stands for the channel of a worker."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, message: Any) -> None:
        self.sent.append(message)

    def owner_only(self) -> None: ...


def spec_of(trial: str, model: str = "gpt") -> TrialSpec:
    return TrialSpec.at(
        f"http://127.0.0.1:9/t/{trial}",
        ModelEndpoint(base_url="", api_key="", model=model, seed=7),
        key=TrialKey(framework="noted", query_id=1),
        query="Rain?",
        system_prompt="",
        tools=(),
        limits=Limits(),
    )


def obey(*commands: Any) -> tuple[list[bool], Replies]:
    Noted.log.clear()
    replies = Replies()
    trials = _loop._Trials(cast(Channel, replies), "nonce", Noted)
    with trials._runner:
        return [trials.obey(command) for command in commands], replies


def test_the_agent_of_a_prepared_trial_is_made_before_it_begins_and_answers_like_any_other() -> None:
    obeyed, ahead = obey(Prepare(spec=spec_of("a")), BeginPrepared(trial="a"))
    assert Noted.log == [("made", "gpt"), ("answers", "gpt"), ("closed", "gpt")]
    assert obeyed == [True, True]
    assert [message.type for message in ahead.sent] == ["started", "clock", "clock", "done"]
    _, at_once = obey(Begin(spec=spec_of("a")))
    assert ahead.sent[-1].outcome.answer == at_once.sent[-1].outcome.answer, "the same seed draws the same numbers"


def test_an_agent_that_cannot_be_made_ahead_is_the_failure_of_its_trial() -> None:
    obeyed, replies = obey(Prepare(spec=spec_of("a", "broken")), BeginPrepared(trial="a"))
    assert obeyed == [True, True]
    assert [message.type for message in replies.sent] == ["started", "done"]
    assert "ValueError: no such model" in replies.sent[-1].outcome.failure.message


@pytest.mark.parametrize("later", [Begin, Prepare])
def test_an_agent_that_was_made_for_nothing_is_closed(later: type[Begin | Prepare]) -> None:
    obeyed, _ = obey(Prepare(spec=spec_of("a", "one")), later(spec=spec_of("b", "other")))
    assert obeyed == [True, True]
    assert Noted.log[:3] == [("made", "one"), ("closed", "one"), ("made", "other")]


def test_a_worker_ends_if_an_agent_that_was_made_for_nothing_stays_open() -> None:
    obeyed, replies = obey(Prepare(spec=spec_of("a", "stays")), Begin(spec=spec_of("b")))
    assert obeyed == [True, False]
    assert replies.sent == [], "the trial has not begun, and another worker can run it"


def test_no_trial_begins_that_was_not_prepared() -> None:
    for commands in [(BeginPrepared(trial="a"),), (Prepare(spec=spec_of("a")), BeginPrepared(trial="b"))]:
        with pytest.raises(TypeError, match="begin_prepared makes no sense now"):
            obey(*commands)
