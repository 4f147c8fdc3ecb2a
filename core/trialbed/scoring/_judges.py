"""Judges: how they are made and asked, the score that they give, and their agreement with labelled cases."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from trialbed.contracts import STATUS_VALUES, AnswerStatus, Judge, Verdict
from trialbed.drivers import load_driver
from trialbed.errors import JudgeError, UsageError
from trialbed.integrity import unsourced
from trialbed.records import Answer, Failure, Json, Query, Record, Score, WireLog
from trialbed.scoring._context import SILENT_SECONDS, ScoreContext
from trialbed.scoring._expected import Expectation, expectations, undecided_criteria
from trialbed.settings import state_dir
from trialbed.tool_calls import ends_unseen, find_forced_calls, relied_on
from trialbed.tracebacks import exception_text
from trialbed.wire_log import limit_text

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


CRITERIA_CALIBRATION = "criteria_calibration"
"""The part of a judge's description about criteria; only runs of tasks with criteria have it."""

CALIBRATIONS = "calibrations.json"
"""The calibrations' file in the state folder."""

MIN_CASES = 30
"""Cases with a verdict that a calibration needs to be named in reports."""


class Calibration(Record):
    """The agreement of a judge with labelled cases.

    Attributes:
        labels: the file of the cases, or ``embedded``; ``labels_digest`` is the SHA-256 over them.
        cases: the number of cases with a verdict; ``failures`` counts the cases without, which enter no figure.
        accuracy: the share of cases with the same status and label, with its interval of 95 %.
        kappa: Cohen's kappa, the agreement beyond chance, with its interval of 95 %; None if all labels and all
            verdicts are one status, because chance explains everything then.
        confusion: label -> status -> number of cases.
        votes: verdicts per case.
        at: when it was measured, in UTC; empty if it comes with the judge.
    """

    labels: str
    labels_digest: str
    cases: int
    failures: int
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    confusion: Mapping[str, Mapping[str, int]]
    votes: int = 1
    at: str = ""

    @property
    def is_large(self) -> bool:
        """True if the cases are enough for reports to name the calibration."""
        return self.cases >= MIN_CASES

    @property
    def summary(self) -> str:
        """The figures in a line."""
        kappa = "" if self.kappa is None else f", kappa {self.kappa:.2f} [{self.kappa_low:.2f}, {self.kappa_high:.2f}]"
        right, low, high = (f"{100 * share:.0f} %" for share in (self.accuracy, self.accuracy_low, self.accuracy_high))
        return f"agrees with {right} [{low}, {high}] of {self.cases} labelled cases ({self.labels}){kappa}"


def judge_note(name: str, judge: Mapping[str, Any] | None) -> str:
    """Describe how far the judge of a run can be trusted; empty if the run has no judge, or asks it for nothing.

    Args:
        name: the judge's, as chosen.
        judge: the part of the run's document about it (``metadata.judge``).
    """
    if not judge or "calibration" not in judge:
        return ""
    full = name if judge["model"] in (None, name) else f"{name}:{judge['model']}"
    subject = "The judge" if full == "judge" else f"The judge {full}"
    said = "is uncalibrated: `bench judge calibrate` measures how far it agrees with labels"
    if judge["calibration"] is not None:
        said = Calibration.model_validate(judge["calibration"]).summary
    notes = [f"{subject} {said}."] if judge.get("asked", True) else []
    if CRITERIA_CALIBRATION in judge:
        said = "is uncalibrated for them: `bench judge calibrate FILE` measures it on cases with a criterion"
        if judge[CRITERIA_CALIBRATION] is not None:
            said = Calibration.model_validate(judge[CRITERIA_CALIBRATION]).summary
        notes.append(f"{judge['model'] or full} reads the criteria of tasks, and {said}.")
    return " ".join(notes)


def judge_identity(driver: str, model: str | None, about: Mapping[str, Json]) -> str:
    """Return a digest of a judge's driver, model and settings of verdicts, which distinguishes it from others."""
    text = json.dumps([driver, model, dict(about)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def calibration_of(judge: Judge, identity: str) -> Mapping[str, Json] | None:
    """Return the calibration of a judge as a document has it; None if it was not calibrated."""
    kept = kept_calibrations().get(identity)
    return judge.calibration() if kept is None else kept.model_dump()


def kept_calibrations() -> dict[str, Calibration]:
    """Return the kept calibrations that are large enough; empty for a damaged file."""
    try:
        kept = json.loads((state_dir() / CALIBRATIONS).read_text(encoding="utf-8"))
        found = {str(name): Calibration.model_validate(value) for name, value in kept.items()}
    except (OSError, ValueError, ValidationError, AttributeError):
        return {}
    return {name: measured for name, measured in found.items() if measured.is_large}


JUDGED = "sopr_score"
"""The score of the run's own judge."""

RULE = "rule"
"""The judge that leaves tasks with expectations to these."""


def judge_label(judge: str, model: str | None) -> str:
    """Return a judge with the model that it asks: ``rule``, ``gpt-4o``, ``stabletoolbench:gpt-4o``."""
    return judge if model in (None, judge) else f"{judge}:{model}"


async def judged_score(context: ScoreContext) -> Score:
    """Return ``sopr_score``, the judge's verdict on the answer, with the answer's status as label.

    Solved is 1, Unsure 0.5, Unsolved 0, averaged over the votes (Solvable Pass Rate, Guo et al. 2024). A judge
    that gives no usable verdict is a failure, never a guess.

    An answer that rests on Apis that the model never asked for, or on claims without a source in the trial, is not the
    model's, and is Unsolved; an object of the caller's program may answer without the model. A trial that misses an
    expectation of its task is Unsolved regardless of the judge. If the only judge is the rule, a trial that meets them
    is Solved.
    """
    score = await _verdict(context)
    limited = limit_text(context.wire)
    if score.label == "Solved" or not limited:
        return score
    reason = "; ".join(filter(None, (score.detail.get("reason"), limited)))
    return score.model_copy(update={"detail": {**score.detail, "reason": reason}})


async def _verdict(context: ScoreContext) -> Score:
    if (not_its_own := _not_its_own(context)) is not None:
        return not_its_own
    found = await asyncio.to_thread(expectations, context) if context.answer.is_long else expectations(context)
    if found and (context.judge_name.partition(":")[0] == RULE or not all(one.met for one in found)):
        return _as_expected(context, found)
    return await ask_judge(context, _list_outcomes(context, found))


async def ask_judge(context: ScoreContext, outcomes: Mapping[str, Json]) -> Score:
    """Return the score that the run's judge gives an answer.

    Args:
        outcomes: of the task's expectations and checks; they go into the score's details.
    """
    try:
        verdict = await context.judge.judge(context.query, context.answer, context.asked_wire)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a judge is foreign code: its fault must not cost the other scores
        kind = "" if isinstance(error, JudgeError) else f"{type(error).__name__}: "
        return _judge_failure(context, f"{kind}{error}", outcomes)
    found = {"reason": verdict.reason, "votes": list(verdict.votes), "agreement": verdict.agreement}
    detail: dict[str, Json] = {"method": context.judge_name, **found}
    if verdict.ballots:
        detail["ballots"] = [vote.model_dump(exclude_defaults=True) for vote in verdict.ballots]
    return Score(name=JUDGED, value=verdict.value, label=verdict.status, detail={**detail, **outcomes})


def open_criteria(context: ScoreContext) -> frozenset[str]:
    """Return the criteria of a trial's task that decide something; only these are worth a judge's model."""
    return frozenset() if _not_its_own(context) is not None else undecided_criteria(context)


def _not_its_own(context: ScoreContext) -> Score | None:
    """Return the score of a trial if its answer is not the model's, or None."""
    asked = {ref.pair for ref in context.called_apis} if context.unasked else set()
    if others := [call for call in context.unasked if call.api.pair not in asked]:
        found = relied_on(context.query, context.answer.final_answer, context.wire, others, context.asked)
        if found:
            apis = "; ".join(sorted({": ".join(filter(None, call.api.pair)) for call in found}))
            is_forced = len(find_forced_calls(context.wire, context.tools, found)) == len(found)
            why = "the request forced with tool_choice" if is_forced else "no answer of the model asked for"
            return _unsolved_score("calls", f"the answer rests on calls that {why}: {apis}")
    without_source = "" if context.in_process else unsourced(context.query, context.text, context.asked_wire)
    if without_source and ends_unseen(context.query, context.tools, context.wire):
        why = f"{without_source}, and a result that the agent did not send back is not observed"
        return _judge_failure(context, f"whether the task is solved is not known: {why}", {})
    return _unsolved_score("sources", without_source) if without_source else None


def _as_expected(context: ScoreContext, found: Sequence[Expectation]) -> Score:
    unmet = [one for one in found if one.met is False]
    unknown = [one for one in found if one.met is None]
    shown = "; ".join(one.finding for one in unmet or unknown)
    if unknown and not unmet:
        unknown_text = f"whether the task is solved is not known: {shown}"
        return _judge_failure(context, unknown_text, _list_outcomes(context, found))
    status: AnswerStatus = "Unsolved" if unmet else "Solved"
    lacking = f"{len(unmet)} of {len(found)} expectations are not met: {shown}"
    detail: dict[str, Json] = {
        "method": "expectations",
        "reason": lacking if unmet else "all that the task expects is met",
        "votes": [status],
        **_list_outcomes(context, found),
    }
    return Score(name=JUDGED, value=STATUS_VALUES[status], label=status, detail=detail)


def _list_outcomes(context: ScoreContext, found: Sequence[Expectation]) -> dict[str, Json]:
    """Return all expectations with their outcomes, and the results of checks, which only the run itself can have."""
    if not found:
        return {}
    listed: list[Json] = [{"text": one.text, "met": one.met, "reason": one.reason} for one in found]
    fields = (result._asdict() for result in context.checks)
    checks: list[Json] = [
        {name: one for name, one in given.items() if name != "accepted" or one is not None} for given in fields
    ]
    return {"expectations": listed, "checks": checks} if checks else {"expectations": listed}


def _unsolved_score(method: str, reason: str) -> Score:
    detail: dict[str, Json] = {"method": method, "reason": reason, "votes": ["Unsolved"]}
    return Score(name=JUDGED, value=0.0, label="Unsolved", detail=detail)


def _judge_failure(context: ScoreContext, message: str, outcomes: Mapping[str, Json]) -> Score:
    failure = Failure(kind="judge", message=f"judge {context.judge_name}: {message}")
    return Score(name=JUDGED, value=None, detail={"method": context.judge_name, **outcomes}, failure=failure)
