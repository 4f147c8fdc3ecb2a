"""A process that scores trials, one after the other: ``python -m trialbed.scoring_process``."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Any, BinaryIO, cast

from trialbed.contracts import Judge, Verdict
from trialbed.errors import JudgeError
from trialbed.model_access import RelayedModel
from trialbed.plugins import installed_listeners
from trialbed.records import Answer, Query, WireLog
from trialbed.scoring import MEMORY, PROCESSOR_SECONDS, ScoreContext, judged_score, make_judge
from trialbed.scoring_process._pool import JudgeOrder
from trialbed.scoring_process._process import (
    Given,
    ModelStep,
    Order,
    Question,
    Reply,
    StepDone,
    pack_message,
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
        sent = pack_message(message)
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
    with suppress(EOFError), asyncio.Runner() as runner:
        worker = ScoringWorker(engine, runner)
        while True:
            engine.send(worker.carry_out(engine.read()))


class ScoringWorker:
    """Carries out the orders of the engine, with judges that it makes once."""

    def __init__(self, engine: Engine, runner: asyncio.Runner) -> None:
        self._engine = engine
        self._run = runner.run
        self._listeners = installed_listeners()
        self._judges: dict[JudgeOrder, Judge] = {}

    def carry_out(self, order: Order) -> Given:
        """Return the result of an order, or why there is none."""
        # The system ends the process then, whatever holds the interpreter.
        _limit_work(PROCESSOR_SECONDS)
        try:
            return Given(getattr(self, order.method)(*order.arguments))
        except Exception as error:  # noqa: BLE001 - foreign code: its fault becomes its score's failure
            return Given([], f"{type(error).__name__}: {error}")
        finally:
            _limit_work(0)

    def score(self, plugin: str | None, context: ScoreContext, judge: JudgeOrder | str | None) -> Any:
        """Score a trial by one plugin.

        Args:
            plugin: None for the judge's score alone.
            context: without its judge.
            judge: the one to make; None to ask the engine for verdicts, text for a judge that has failed.
        """
        if isinstance(judge, JudgeOrder):
            made = self._judge(judge)
        else:
            made = EnginesJudge(self._engine) if judge is None else StoppedJudge(judge)
        context = replace(context, judge=made)
        return self._run(judged_score(context) if plugin is None else self._listeners.score_by(plugin, context))

    def ask_judge(self, judge: JudgeOrder, method: str, arguments: tuple[Any, ...]) -> Reply:
        """Call a method of a judge, outside of a trial."""
        try:
            return Reply(self._run(getattr(self._judge(judge), method)(*arguments)))
        except JudgeError as error:
            return Reply(None, str(error))

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Call a function of Trialbed, which reads foreign texts."""
        return function(*arguments, **named)

    def _judge(self, wanted: JudgeOrder) -> Judge:
        if wanted not in self._judges:
            model = None if wanted.endpoint is None else RelayedModel(wanted.endpoint, self._engine.ask_model)
            self._judges[wanted] = make_judge(wanted.driver, model, votes=wanted.votes, prompts=wanted.prompts)
        return self._judges[wanted]


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


if __name__ == "__main__":
    main()
