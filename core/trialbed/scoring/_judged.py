"""The score that a judge gives."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from trialbed.contracts import STATUS_VALUES, AnswerStatus
from trialbed.errors import JudgeError
from trialbed.integrity import unsourced
from trialbed.records import Failure, Json, Score
from trialbed.scoring._context import ScoreContext
from trialbed.scoring._expected import Expectation, expectations, undecided_criteria
from trialbed.tool_calls import ends_unseen, find_forced_calls, relied_on
from trialbed.wire_log import limit_text

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
