"""Makes judges of drivers and of plain functions, and has them asked in the event loop that is theirs."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from trialbed.contracts import STATUS_VALUES, AnswerStatus, Judge, Verdict
from trialbed.drivers import load_driver
from trialbed.errors import JudgeError, UsageError
from trialbed.records import Answer, Json, Query, WireLog
from trialbed.scoring._bounds import SILENT_SECONDS
from trialbed.tracebacks import exception_text

if TYPE_CHECKING:
    from trialbed.model_access import ModelAccess

Found = bool | float | AnswerStatus | Verdict
JudgeFunction = Callable[[Query, Answer, WireLog], Found | Awaitable[Found]]


class FunctionJudge(Judge):
    """A function of query, answer and wire log that says whether an answer is right.

    It returns True or False; a number from 0 for Unsolved to 1 for Solved; a status; or a ``Verdict``. It
    may be ``async``.
    """

    def __init__(self, function: JudgeFunction) -> None:
        super().__init__()
        self.code = function
        self.name = getattr(function, "__name__", type(function).__name__)

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Grade the answer as the function says."""
        from trialbed.foreign_code import ForeignCode

        found = await ForeignCode(self.code).do(partial(self.code, query, answer, wire), SILENT_SECONDS)
        given = await found if inspect.isawaitable(found) else found
        if isinstance(given, Verdict):
            return given
        value = next((number for status, number in STATUS_VALUES.items() if status == given), given)
        if not isinstance(value, (bool, int, float)) or not 0 <= value <= 1:
            raise JudgeError(
                f"{self.name} returned {given!r:.60}; a judge returns a bool, a number from 0 to 1, or a Verdict"
            )
        status: AnswerStatus = "Solved" if value == 1 else "Unsure" if value else "Unsolved"
        reason = f"{self.name} returned {given!r}"
        return Verdict(status=status, value=float(value), reason=reason, votes=(status,))


def make_judge(driver: str, model: ModelAccess | None = None, *, votes: int = 1, prompts: str | None = None) -> Judge:
    """Make an instance of a judge's driver, with its model and the folder of its prompts."""
    judge = cast("Judge", load_driver("judges", driver)(None if model is None else model.endpoint, votes=votes))
    if model is not None:
        judge.model = model
    if prompts is not None:
        judge.prompts = Path(prompts)
    return judge


def as_judge(given: Judge | JudgeFunction) -> Judge:
    """Return the judge that an object is.

    Raises:
        UsageError: it is not a judge.
    """
    if isinstance(given, Judge):
        return given
    if not callable(given) or isinstance(given, type):
        raise UsageError(
            f"judge: {given!r:.60} is not a judge; give a name, a Judge, or a function (query, answer, wire)"
        )
    return FunctionJudge(given)


@asynccontextmanager
async def judge_apart(judge: Judge) -> AsyncIterator[Judge]:
    """Have a judge that is not Trialbed's work in its own event loop; the run goes on even if the judge blocks."""
    from trialbed.foreign_code import ForeignCode

    code = ForeignCode(judge)

    async def ask(method: str, *arguments: Any) -> Any:
        try:
            return await code.call(partial(getattr(judge, method), *arguments), SILENT_SECONDS)
        except JudgeError:
            raise
        except Exception as error:
            raise JudgeError(exception_text(error, getattr(judge, "code", judge))) from error

    try:
        yield RelayedJudge(ask, judge)
    finally:
        code.end()


class RelayedJudge(Judge):
    """A judge that works in another event loop, or in another process.

    Args:
        ask: calls a method of the judge there.
        judge: the judge, if it is in this process.
    """

    def __init__(self, ask: Callable[..., Awaitable[Any]], judge: Judge | None = None) -> None:
        super().__init__(getattr(judge, "endpoint", None), votes=getattr(judge, "votes", 1))
        self.model = getattr(judge, "model", None)
        self._ask = ask
        self._judge = judge

    @property
    def about(self) -> Mapping[str, Json]:
        """The settings of the judge."""
        return {} if self._judge is None else self._judge.about

    def calibration(self) -> Mapping[str, Json] | None:
        """Return the calibration of the judge."""
        return None if self._judge is None else self._judge.calibration()

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Return the verdict of the judge."""
        return cast("Verdict", await self._ask("judge", query, answer, wire))

    async def meets(self, criterion: str, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Return the verdict of the judge on a criterion."""
        return cast("Verdict", await self._ask("meets", criterion, query, answer, wire))

    async def close(self) -> None:
        """Close the judge."""
        await self._ask("close")
