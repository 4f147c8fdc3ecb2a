"""The engine's side of the scoring processes."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from trialbed.child_processes import end_process
from trialbed.contracts import Judge, Verdict
from trialbed.errors import JudgeError, ModelFailed, TrialbedError
from trialbed.records import Answer, Query, Score, WireLog
from trialbed.scoring import (
    MEMORY,
    PROCESSOR_SECONDS,
    SILENT_SECONDS,
    ScoreContext,
    ScoringStopped,
    is_large,
    judged_score,
    open_criteria,
    run_criteria,
)
from trialbed.scoring_process._messages import (
    HEADER,
    LONGEST,
    Given,
    JudgeOrder,
    Judging,
    ModelStep,
    Order,
    Question,
    Reply,
    StepDone,
    pack_message,
)

T = TypeVar("T")

MOST = 2
"""Processes of one run."""

MOST_WAITING = 8
"""Processes of one run whose judge asks a model, for which they wait most of the time."""

TRIALS = 200
"""Orders after which a process is replaced, so that what plugins leave behind is bounded."""


NO_JUDGE = cast("Judge", None)
"""A process puts its own judge in this place."""


class ScoringProcesses:
    """Scores trials, and reads foreign texts, in processes: started when they are first needed, used for many trials.

    Each order has ``PROCESSOR_SECONDS`` of work and a process ``MEMORY``; a process that passes a limit is replaced.

    Args:
        judge: the judge that a process makes for itself; None to ask that of the trial's context, in this process.
    """

    def __init__(self, judge: JudgeOrder | None = None) -> None:
        self._judge = judge
        self._idle: list[_Scorer] = []
        self._slots = asyncio.Semaphore(MOST if judge is None or judge.endpoint is None else MOST_WAITING)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        idle, self._idle = self._idle, []
        for scorer in idle:
            await scorer.end()

    def takes(self, context: ScoreContext, *, foreign: bool) -> bool:
        """Return whether a plugin is to score a trial here: a foreign one always, another if there is much to read.

        Trialbed's own scorers and judges read every text in linear time, so that they need no process for a small one.
        """
        foreign_judge = self._judge is not None and self._judge.foreign
        return foreign or foreign_judge or is_large(context.answer, context.wire)

    async def score(self, plugin: str, context: ScoreContext) -> Sequence[Score]:
        """Return the scores that a plugin gives.

        Raises:
            ScoringStopped: it passed a limit.
            RuntimeError: it failed; the text is why.
        """
        found: Sequence[Score] = await self._score_of(plugin, context)
        return found

    async def judge_score(self, context: ScoreContext) -> Score:
        """Return the judge's score.

        Raises:
            ScoringStopped: the trial's texts are more than can be read within the limits, whoever judges them.
            RuntimeError: it failed; the text is why.
        """
        if not self.takes(context, foreign=False):
            return await judged_score(context)
        score: Score = await self._score_of(None, context)
        return score

    async def call(self, function: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Return the result of a function of Trialbed that reads foreign texts.

        Raises:
            ScoringStopped: it passed a limit.
            RuntimeError: it failed; the text is why.
        """
        result: T = await self._result_of(Order("call", (function, arguments, named)), NO_JUDGE)
        return result

    def bounded(self, judge: Judge) -> Judge:
        """Return the judge as one to ask within the limits, apart from the scores of a trial.

        Args:
            judge: as it was made here, with its model.
        """
        return judge if self._judge is None else _BoundedJudge(judge, self._judge, self._result_of)

    async def _score_of(self, plugin: str | None, context: ScoreContext) -> Any:
        judge: JudgeOrder | str | None = self._judge
        while True:
            order = Order("score", (plugin, replace(context, judge=NO_JUDGE), judge))
            try:
                return await self._result_of(order, context.judge)
            except ScoringStopped as stopped:
                if not stopped.of_judge:
                    raise
                judge = f"stopped: it {stopped}"

    async def _result_of(self, order: Order, judge: Judge) -> Any:
        async with self._slots:
            scorer = self._idle.pop() if self._idle else await _Scorer.start()
            try:
                given = await scorer.do(order, judge)
            except BaseException:
                await asyncio.shield(scorer.end())
                raise
            if scorer.orders < TRIALS:
                self._idle.append(scorer)
            else:
                await scorer.end()
        if given.failure is not None:
            raise RuntimeError(given.failure)
        return given.result


class _Scorer:
    """One process."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._judges = False
        self.orders = 0

    @classmethod
    async def start(cls) -> _Scorer:
        # It finds what this process finds, and gets no signal from the terminal: the engine ends it.
        folders = os.pathsep.join(folder or os.curdir for folder in sys.path)
        arguments = (sys.executable, "-P", "-m", "trialbed.scoring_process")
        environment = {**os.environ, "PYTHONPATH": folders}
        return cls(
            await asyncio.create_subprocess_exec(
                *arguments, stdin=PIPE, stdout=PIPE, env=environment, start_new_session=True
            )
        )

    async def do(self, order: Order, judge: Judge) -> Given:
        """Have an order done; the process's questions go to the judge, or to its model.

        Raises:
            ScoringStopped: a limit was passed, or the process ended.
        """
        self.orders += 1
        self._judges = False
        try:
            await self._send(order)
            while not isinstance(message := await self._read(), Given):
                if isinstance(message, Judging):
                    self._judges = message.begins
                elif isinstance(message, Question):
                    await self._send(await _reply(judge, message))
                elif isinstance(message, ModelStep):
                    await self._send(await _step(judge, message))
        except (asyncio.IncompleteReadError, BrokenPipeError, ConnectionResetError):
            raise ScoringStopped(_end_of(await self._process.wait()), of_judge=self._judges) from None
        except TimeoutError:
            raise ScoringStopped(f"was silent for {SILENT_SECONDS:.0f} s", of_judge=self._judges) from None
        if message.failure is not None and message.failure.startswith("MemoryError"):
            raise ScoringStopped(f"needs more than {MEMORY // 2**30} GiB of memory", of_judge=self._judges)
        return message

    async def _send(self, message: Any) -> None:
        self._stdin.write(pack_message(message))
        await self._stdin.drain()

    async def _read(self) -> Any:
        async with asyncio.timeout(SILENT_SECONDS):
            (length,) = HEADER.unpack(await self._stdout.readexactly(HEADER.size))
            if length > LONGEST:
                raise ScoringStopped(f"gave a result of more than {LONGEST // 2**20} MiB")
            return pickle.loads(await self._stdout.readexactly(length))  # noqa: S301 - plugins run there that would run here

    async def end(self) -> None:
        """End the process."""
        await end_process(self._process)


class _BoundedJudge(Judge):
    """Has a process ask a judge that is foreign, or that has much to read."""

    def __init__(self, judge: Judge, order: JudgeOrder, do: Callable[[Order, Judge], Awaitable[Any]]) -> None:
        super().__init__(judge.endpoint, votes=judge.votes)
        self._judge = judge
        self._order = order
        self._do = do

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Return the verdict of the judge.

        Raises:
            JudgeError: it has none, fails, or passes a limit.
        """
        if not (self._order.foreign or is_large(answer, wire)):
            return await self._judge.judge(query, answer, wire)
        return await self._call("judge", query, answer, wire)

    async def meets(self, criterion: str, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Return the verdict of the judge on a criterion.

        Raises:
            JudgeError: it has none, fails, or passes a limit.
        """
        if not (self._order.foreign or is_large(answer, wire)):
            return await self._judge.meets(criterion, query, answer, wire)
        return await self._call("meets", criterion, query, answer, wire)

    async def _call(self, method: str, *arguments: Any) -> Verdict:
        try:
            reply: Reply = await self._do(Order("ask_judge", (self._order, method, arguments)), self._judge)
        except ScoringStopped as stopped:
            raise JudgeError(f"it {stopped}") from None
        except RuntimeError as error:
            raise JudgeError(str(error)) from None
        if reply.verdict is None:
            raise JudgeError(reply.error)
        return reply.verdict


async def _reply(judge: Judge, question: Question) -> Reply:
    try:
        return Reply(await judge.judge(*question))
    except JudgeError as error:
        return Reply(None, str(error))
    except Exception as error:  # noqa: BLE001 - a judge is foreign code: its fault must not cost the other scores
        return Reply(None, f"{type(error).__name__}: {error}")


async def _step(judge: Judge, step: ModelStep) -> StepDone:
    if judge.model is None:
        return StepDone(None, ModelFailed("the judge has no model"))
    from trialbed.model_access import run_step  # most judges have no model

    try:
        return StepDone(await run_step(judge.model, step.name, step.arguments))
    except TrialbedError as error:
        return StepDone(None, error)
    except Exception as error:  # noqa: BLE001 - whatever the request is, its fault is the judge's
        return StepDone(None, ModelFailed(f"{type(error).__name__}: {error}"))


def _end_of(status: int) -> str:
    if hasattr(signal, "SIGPROF") and status == -signal.SIGPROF:
        return f"takes more than {PROCESSOR_SECONDS} s of work"
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended its process with code {status}"


async def with_criteria(context: ScoreContext, processes: ScoringProcesses | None) -> ScoreContext:
    """Return a trial's context with the findings of its judge on the criteria of the task.

    Where they decide nothing, the judge is not asked: its model costs the same for a trial that has failed anyway.

    Args:
        processes: those of the judge; None asks it here.

    Raises:
        ScoringStopped: the trial's texts are more than can be read within the limits.
    """
    expected = context.query.expected
    if expected is None or not expected.all_criteria:
        return context
    # A judge may be foreign code: on the caller's loop, it could hold up the whole run.
    judge = context.judge if processes is None else processes.bounded(context.judge)
    found = await run_criteria(judge, context, await _open(context, processes))
    names = {result.name for result in found}
    others = (result for result in context.checks if result.name not in names)
    return replace(context, checks=(*others, *found))


async def _open(context: ScoreContext, processes: ScoringProcesses | None) -> frozenset[str]:
    if processes is None or not is_large(context.answer, context.wire):
        return await asyncio.to_thread(open_criteria, context)
    # No judge is asked there, and few can be sent.
    return await processes.call(open_criteria, replace(context, judge=NO_JUDGE))
