"""The engine's side of the scoring processes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeVar, cast

from trialbed.contracts import Judge, Verdict
from trialbed.errors import JudgeError
from trialbed.records import Answer, ModelEndpoint, Query, Score, WireLog
from trialbed.scoring import (
    ScoreContext,
    ScoringStopped,
    is_large,
    judged_score,
    open_criteria,
    run_criteria,
)

if TYPE_CHECKING:
    from trialbed.scoring_process._process import Reply, ScoringProcess

T = TypeVar("T")

Method = Literal["score", "ask_judge", "call"]
"""The method of a process's ``Worker`` that does an order."""

MOST = 2
"""Processes of one run."""

MOST_WAITING = 8
"""Processes of one run whose judge asks a model, for which they wait most of the time."""

TRIALS = 200
"""Orders after which a process is replaced, so that what plugins leave behind is bounded."""


NO_JUDGE = cast("Judge", None)
"""A process puts its own judge in this place."""


class JudgeOrder(NamedTuple):
    """A judge that a scoring process makes for itself.

    Attributes:
        foreign: whether it comes from another distribution than Trialbed.
        endpoint: of the model that it asks, through the engine; None if it asks none.
    """

    driver: str
    votes: int
    prompts: str | None
    foreign: bool
    endpoint: ModelEndpoint | None = None


class ScoringProcesses:
    """Scores trials, and reads foreign texts, in processes: started when they are first needed, used for many trials.

    Each order has ``PROCESSOR_SECONDS`` of work and a process ``MEMORY``; a process that passes a limit is replaced.

    Args:
        judge: the judge that a process makes for itself; None to ask that of the trial's context, in this process.
    """

    def __init__(self, judge: JudgeOrder | None = None) -> None:
        self._judge = judge
        self._idle: list[ScoringProcess] = []
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
        result: T = await self._result_of("call", (function, arguments, named), NO_JUDGE)
        return result

    def bounded(self, judge: Judge) -> Judge:
        """Return the judge as one to ask within the limits, apart from the scores of a trial.

        Args:
            judge: as it was made here, with its model.
        """
        return judge if self._judge is None else _BoundedJudge(judge, self._judge, self._result_of)

    async def _score_of(self, plugin: str | None, context: ScoreContext) -> Any:
        given = plugin, replace(context, judge=NO_JUDGE)
        try:
            return await self._result_of("score", (*given, self._judge), context.judge)
        except ScoringStopped as stopped:
            if self._judge is None or not self._judge.foreign:
                raise
            # Without that judge, all others have their scores, unless the trial's texts are too much for these, too.
            return await self._result_of("score", (*given, f"stopped: it {stopped}"), context.judge)

    async def _result_of(self, method: Method, arguments: tuple[Any, ...], judge: Judge) -> Any:
        from trialbed.scoring_process._process import Order, ScoringProcess  # most runs start none

        async with self._slots:
            scorer = self._idle.pop() if self._idle else await ScoringProcess.start()
            try:
                given = await scorer.do(Order(method, arguments), judge)
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


class _BoundedJudge(Judge):
    """Has a process ask a judge that is foreign, or that has much to read."""

    def __init__(
        self, judge: Judge, order: JudgeOrder, do: Callable[[Method, tuple[Any, ...], Judge], Awaitable[Any]]
    ) -> None:
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
            reply: Reply = await self._do("ask_judge", (self._order, method, arguments), self._judge)
        except ScoringStopped as stopped:
            raise JudgeError(f"it {stopped}") from None
        except RuntimeError as error:
            raise JudgeError(str(error)) from None
        if reply.verdict is None:
            raise JudgeError(reply.error)
        return reply.verdict


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
