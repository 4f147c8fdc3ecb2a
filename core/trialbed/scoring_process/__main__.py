"""A process that scores trials, one after the other: ``python -m trialbed.scoring_process``."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Any, BinaryIO, cast

from trialbed.contracts import Judge, Verdict
from trialbed.errors import JudgeError
from trialbed.listeners import Listeners
from trialbed.model_access import RelayedModel
from trialbed.plugins import installed_listeners
from trialbed.records import Answer, Query, WireLog
from trialbed.scoring import MEMORY, PROCESSOR_SECONDS, judged_score, make_judge
from trialbed.scoring_process._messages import (
    Given,
    JudgeCall,
    JudgeOrder,
    Judging,
    ModelStep,
    Order,
    Question,
    Reply,
    StepDone,
    Work,
    packed,
    read_message,
)


class Engine:
    """The other side; may be spoken to in any thread."""

    def __init__(self, orders: BinaryIO, replies: BinaryIO) -> None:
        self._orders = orders
        self._replies = replies
        self._reading, self._writing = Lock(), Lock()

    def read(self) -> Any:
        """Wait for the next order."""
        # A question whose asker no longer waits gets its reply first.
        with self._reading:
            return read_message(self._orders)

    def send(self, message: Any) -> None:
        """Send a message."""
        sent = packed(message)
        with self._writing:
            self._replies.write(sent)
            self._replies.flush()

    def ask(self, question: Any) -> Any:
        """Return the reply to a question."""
        with self._reading:
            self.send(question)
            return read_message(self._orders)

    def ask_model(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Return the result of a step of the engine's access to the judge's model.

        Raises:
            ModelFailed: as the step says.
        """
        done: StepDone = self.ask(ModelStep(name, arguments))
        if done.error is not None:
            raise done.error
        return done.result


class EnginesJudge(Judge):
    """Asks the engine, whose judge has a model or is an object of the program."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Return the verdict of the engine's judge.

        Raises:
            JudgeError: it has none.
        """
        reply = await asyncio.to_thread(self._engine.ask, Question(query, answer, wire))
        if reply.verdict is None:
            raise JudgeError(reply.error)
        return cast("Verdict", reply.verdict)


class NotedJudge(Judge):
    """Says when a judge begins and ends, so that the engine knows whose work passes a limit."""

    def __init__(self, judge: Judge, engine: Engine) -> None:
        super().__init__()
        self._judge = judge
        self._engine = engine

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Return the verdict of the judge."""
        self._engine.send(Judging(begins=True))
        try:
            return await self._judge.judge(query, answer, wire)
        finally:
            self._engine.send(Judging(begins=False))


class StoppedJudge(Judge):
    """Has passed a limit on this trial before."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self._reason = reason

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:  # noqa: ARG002 - it is known
        """Raise the error.

        Raises:
            JudgeError: always.
        """
        raise JudgeError(self._reason)


def main() -> None:
    """Score until the engine closes the pipe."""
    orders, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What plugins print is no message, and what they read is none of theirs.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    _limit_memory()
    engine = Engine(orders, replies)
    listeners = installed_listeners()
    judges: dict[JudgeOrder, Judge] = {}
    with suppress(EOFError), asyncio.Runner() as runner:
        while True:
            engine.send(_carry_out(engine.read(), engine, listeners, judges, runner))


def _carry_out(
    order: Order | JudgeCall | Work,
    engine: Engine,
    listeners: Listeners,
    judges: dict[JudgeOrder, Judge],
    runner: asyncio.Runner,
) -> Given:
    # The system ends the process then, whatever holds the interpreter.
    _limit_work(PROCESSOR_SECONDS)
    try:
        if isinstance(order, Work):
            return Given(order.function(*order.arguments, **order.named))
        if isinstance(order, JudgeCall):
            return Given(runner.run(_reply(order, _made_judge(order.judge, engine, judges))))
        context = replace(order.context, judge=_judge(order, engine, judges))
        if order.plugin is None:
            return Given(runner.run(judged_score(context)))
        return Given(runner.run(listeners.score_by(order.plugin, context)))
    except Exception as error:  # noqa: BLE001 - foreign code: its fault becomes its score's failure
        return Given([], f"{type(error).__name__}: {error}")
    finally:
        _limit_work(0)


async def _reply(call: JudgeCall, judge: Judge) -> Reply:
    try:
        return Reply(await getattr(judge, call.method)(*call.arguments))
    except JudgeError as error:
        return Reply(None, str(error))


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = MEMORY if most == resource.RLIM_INFINITY else min(MEMORY, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _limit_work(seconds: float) -> None:
    """Have the system end this process after so much work; 0 for any."""
    if hasattr(signal, "setitimer"):  # Windows has none
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _judge(order: Order, engine: Engine, made: dict[JudgeOrder, Judge]) -> Judge:
    wanted = order.judge
    if wanted is None:
        return EnginesJudge(engine)
    if isinstance(wanted, str):
        return StoppedJudge(wanted)
    judge = _made_judge(wanted, engine, made)
    return NotedJudge(judge, engine) if wanted.foreign else judge


def _made_judge(wanted: JudgeOrder, engine: Engine, made: dict[JudgeOrder, Judge]) -> Judge:
    if wanted not in made:
        model = None if wanted.endpoint is None else RelayedModel(wanted.endpoint, engine.ask_model)
        made[wanted] = make_judge(wanted.driver, model, votes=wanted.votes, prompts=wanted.prompts)
    return made[wanted]


if __name__ == "__main__":
    main()
