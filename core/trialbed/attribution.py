"""Attribution: for each expected call of a trial, whether its result reached the user, or where it was lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trialbed.records import (
    NOT_MEASURED,
    STAGES,
    ApiCall,
    AttributedCall,
    LostCall,
    Query,
    Stage,
    ToolSpec,
    TrialResult,
)
from trialbed.scoring import JUDGED
from trialbed.texts import one_line
from trialbed.tool_calls import (
    NOT_MADE,
    AlignedCall,
    AskedCall,
    Uses,
    align_gold_calls,
    asked_calls,
    last_turn,
    said,
    unasked_calls,
    was_told,
)
from trialbed.wire_log import failed

Loss = tuple[Stage, str]
"""A stage, and the reason in words."""

ENDED = "the framework ended the run at a call that cannot be made"
"""The beginning of the reason of a loss where the framework did not report an invalid call to the model."""

OF_THE_OFFER = "the framework's offer"
"""The beginning of the reason of a loss that the framework's offer of tools made."""

UNTOLD = "the framework did not tell the model of its response"
REPLACED = "the framework gave another answer than the model's last text, which has something of its response"

STOPPED = "the agent ended after"
"""The beginning of the reason of a loss where the model had asked for calls, and was never sent their results."""

SILENT = "the agent sent the model no request"

BY_FRAMEWORK = (ENDED, OF_THE_OFFER, UNTOLD, REPLACED, STOPPED, SILENT)
"""The beginnings of the reasons of losses that are the framework's, at whatever stage they are."""

NOT_BY_FRAMEWORK = ("limit", "model", *NOT_MEASURED)
"""Kinds of failure that end a run without the framework's doing."""

MAX_REASON = 300
"""Characters of a reason."""


USED = "used"
"""The key of the expected calls that were not lost."""

LOSERS = ("selector", "model", "framework", "rig")
"""The parties that can lose an expected call; the rig is the virtual API and Trialbed itself."""

LOST_BY = {
    "not offered": "selector",
    "not called": "model",
    "wrong arguments": "model",
    "not used": "model",
    "not made": "framework",
    "api failed": "rig",
}
"""Stage -> who lost a call at it."""

NOT_RIGHT = ("not offered", "not called", "wrong arguments", "not made", "trial failed")
"""The stages at which no right call is known to have reached its Api; failed trials count as 0, as in every score."""

FAILED_BY = {"model": "model", "limit": "model"} | dict.fromkeys(
    ("budget", "endpoint", "replay", "server", "tool", "judge", "scorer"), "rig"
)
"""Kind of failure -> who lost the calls of the trial; the framework at all others."""


@dataclass(frozen=True)
class FirstLoss:
    """The first expected call that was lost at a stage."""

    query_id: int | str
    call: AttributedCall


@dataclass(frozen=True)
class Attribution:
    """The expected calls of many trials by the stage at which they were lost, or used.

    Attributes:
        counts: every stage in order, then ``used`` -> the expected calls that were lost there, or used.
        first: stage -> the first call that was lost there.
        losers: each of ``LOSERS`` -> the expected calls that it lost.
    """

    counts: Mapping[str, int]
    first: Mapping[str, FirstLoss] = field(default_factory=dict)
    losers: Mapping[str, int] = field(default_factory=dict)

    @property
    def gold_calls(self) -> int:
        """The number of expected calls."""
        return sum(self.counts.values())

    @property
    def right(self) -> int:
        """The number of expected calls that were made with the right arguments, in trials that did not fail."""
        return self.gold_calls - sum(self.counts[stage] for stage in NOT_RIGHT)

    @property
    def shares(self) -> dict[str, float | None]:
        """The counts as shares, which add up to 1; None without expected calls."""
        total = self.gold_calls
        return {stage: count / total if total else None for stage, count in self.counts.items()}


def count_calls(trials: Iterable[tuple[int | str, Iterable[AttributedCall], str]]) -> Attribution:
    """Count the expected calls of trials by stage and by who lost them.

    Args:
        trials: the query of each, its expected calls, and the kind of its failure; empty for none.
    """
    counts = Counter[str]()
    losers = Counter[str]()
    first: dict[str, FirstLoss] = {}
    for query_id, calls, failure in trials:
        for call in calls:
            counts[call.lost or USED] += 1
            if call.lost is not None:
                first.setdefault(call.lost, FirstLoss(query_id, call))
                losers[_loser(call, failure)] += 1
    return Attribution({stage: counts[stage] for stage in (*STAGES, USED)}, first, dict(losers))


def _loser(call: AttributedCall, failure: str) -> str:
    if call.reason.startswith(BY_FRAMEWORK):
        return "framework"
    if call.lost == "trial failed":
        return FAILED_BY.get(failure, "framework")
    return LOST_BY[str(call.lost)]


def attribute_trial(result: TrialResult, query: Query, tools: Sequence[ToolSpec]) -> tuple[AttributedCall, ...] | None:
    """Attribute the expected calls of a scored trial, bodies included; None if it was not measured.

    Args:
        tools: the tools that the query was offered.
    """
    if result.status == "not measured":
        return None
    return attribute(query, tools, result, unrequested_calls(result, tools))


def unrequested_calls(result: TrialResult, tools: Sequence[ToolSpec]) -> tuple[ApiCall, ...]:
    """Return the calls that no answer of the model asked for; none if the scorers found none.

    They know more than the wire: whether the agent may be led by a model that the gateway does not see.
    """
    score = result.score("unasked_calls")
    if not result.wire.model_calls or (score is not None and not score.value):
        return ()
    return unasked_calls(result.wire, tools)


def attribute(
    query: Query, tools: Sequence[ToolSpec], result: TrialResult, unasked: Collection[ApiCall] = ()
) -> tuple[AttributedCall, ...]:
    """Say of each expected call of a query whether its result was used in a trial, or where it was lost.

    A call is lost at the first stage that it does not pass. One that was never asked for in a trial that ended in an
    error is lost by that error, as the model could not ask any more.

    Args:
        tools: the tools that the query was offered.
        unasked: the calls that no answer of the model asked for; they stand for no expected call.
    """
    calls = asked_calls(result.wire, tools, unasked)
    names = {tool.api: tool.name for tool in tools}
    schemas = {tool.api: tool.parameters for tool in tools}
    impossible = {lost.tool: lost for lost in result.wire.lost}
    ended, stopped = _final_problem(result), _early_end(result, calls)
    found = []
    for aligned in align_gold_calls(query.gold_calls, calls, tools).gold:
        name = names.get(aligned.gold.api)
        loss = (
            _before_the_call(aligned, name, impossible.get(name or ""), result)
            or _loss_by_change(aligned, tools)
            or _loss_by_requirement(aligned, name, result)
            or _after_it(aligned, schemas.get(aligned.gold.api, {}), query, result, calls)
        )
        if loss and loss[0] == "not called" and stopped:
            loss = loss[0], stopped
        if loss and ended and _was_to_be_repeated(aligned.call, loss, result):
            loss = loss[0], f"{ENDED}: {ended}"
        stage, reason = _short(loss) if loss else (None, "")
        found.append(AttributedCall(gold=aligned.gold, lost=stage, reason=reason))
    return tuple(found)


def _before_the_call(
    aligned: AlignedCall, name: str | None, impossible: LostCall | None, result: TrialResult
) -> Loss | None:
    if name is None:
        return "not offered", "its tool was not selected"
    if aligned.call is not None:
        return None
    if impossible is not None:
        stage: Stage = "wrong arguments" if impossible.reason == "arguments" else "not offered"
        return stage, f"{OF_THE_OFFER}: {impossible.reason}{_after_colon(impossible.detail)}"
    if result.outcome.failure is not None:
        return "trial failed", f"before it was called{_failure(result)}"
    return "not called", "the model did not ask for it" if result.wire.model_calls else SILENT


def _after_it(
    aligned: AlignedCall, schema: Mapping[str, Any], query: Query, result: TrialResult, calls: Sequence[AskedCall]
) -> Loss | None:
    call = aligned.call
    if call is None:
        return None
    if not call.reached and call.problem != NOT_MADE:
        return "wrong arguments", call.problem
    if not aligned.right:
        return "wrong arguments", f"{aligned.difference}{_error(call)}"
    if not call.reached:
        return "not made", call.problem
    if not call.accepted:
        stage: Stage = "wrong arguments" if _violates(call, schema) else "api failed"
        return stage, call.problem
    if result.outcome.failure is not None:
        return "trial failed", f"after the call{_failure(result)}"
    return _loss_by_disuse(call, query, result, calls)


def _loss_by_change(aligned: AlignedCall, tools: Sequence[ToolSpec]) -> Loss | None:
    """The loss of a call that the model sent with the right arguments, and the framework made with others."""
    call = aligned.call
    if call is None or aligned.right or not call.sent:
        return None
    as_sent = replace(call, arguments=call.sent, problem="")
    if not align_gold_calls([aligned.gold], [as_sent], tools).gold[0].right:
        return None
    return "not made", f"the framework changed the arguments that the model sent: {aligned.difference}{_error(call)}"


def _loss_by_requirement(aligned: AlignedCall, name: str | None, result: TrialResult) -> Loss | None:
    """The loss of a call that is wrong only by arguments that the framework made the model send."""
    call = aligned.call
    wrong = {found.name for found in aligned.arguments if found.points is not None and found.points < 1}
    made_up = {item.argument for item in result.wire.filled if item.tool == name}
    if call is None or not wrong or not wrong <= made_up:
        return None
    return "wrong arguments", f"{OF_THE_OFFER}: it requires optional arguments: {aligned.difference}{_error(call)}"


def _error(call: AskedCall) -> str:
    return f"; it failed: {call.problem}" if call.problem else ""


def _final_problem(result: TrialResult) -> str:
    """Return the problem of the model's last calls, where none can be made and the framework did not say so."""
    turns, failure = result.wire.model_calls, result.outcome.failure
    if not turns or failed(turns[-1]) or (failure is not None and failure.kind in NOT_BY_FRAMEWORK):
        return ""
    wrong = [call.problem for call in turns[-1].tool_calls]
    return (wrong[0] or "") if wrong and all(wrong) else ""


def _early_end(result: TrialResult, calls: Sequence[AskedCall]) -> str:
    """Return that the agent made the calls of the model's last answer and ended; empty where it did not."""
    turns = result.wire.model_calls
    if not turns or failed(turns[-1]):
        return ""
    end = turns[-1].started + turns[-1].duration
    made = dict.fromkeys(call.api.api_name for call in calls if call.api and call.reached and call.asked == end)
    if not turns[-1].tool_calls or not made:
        return ""
    requests = "1 request" if len(turns) == 1 else f"{len(turns)} requests"
    return f"{STOPPED} {requests} without passing the result of {' and '.join(made)} back"


def _was_to_be_repeated(call: AskedCall | None, loss: Loss, result: TrialResult) -> bool:
    """Return whether the model could have made a lost call after its last answer, or in that one."""
    last = result.wire.model_calls[-1]
    return (
        loss[0] == "not called" if call is None else not call.reached and call.started >= last.started + last.duration
    )


def _violates(call: AskedCall, schema: Mapping[str, Any]) -> bool:
    """Return whether the arguments of a call violate its tool's schema; an unreadable one forbids nothing."""
    from trialbed.wire.json_schemas import schema_problems  # most runs lose no call

    return bool(schema_problems(schema, call.arguments, most=1))


def _loss_by_disuse(call: AskedCall, query: Query, result: TrialResult, calls: Sequence[AskedCall]) -> Loss | None:
    answer = result.outcome.answer
    if _meets_expectations(query, result):
        return None
    if answer is None or answer.finish is None:
        return "not used", "the agent did not finish"
    if answer.finish != "give_answer":
        return "not used", "the agent gave up"
    if Uses(query, answer.final_answer, calls).shows(call) is not False:
        return None
    return "not used", _why_unused(call, query, result, calls)


def _meets_expectations(query: Query, result: TrialResult) -> bool:
    """Return whether all that a task expects is met, so that its results were used as they are in no text: by a yes."""
    solved = result.score(JUDGED)
    return query.expected is not None and solved is not None and solved.label == "Solved"


def _why_unused(call: AskedCall, query: Query, result: TrialResult, calls: Sequence[AskedCall]) -> str:
    last = last_turn(result.wire)
    if last is not None and any(Uses(query, text, calls).of(call) for text in said(last)):
        return REPLACED
    if was_told(result.wire, call.arguments, call.response, call.started) is False:
        return UNTOLD
    return "nothing of its response is in the answer or in a later call"


def _failure(result: TrialResult) -> str:
    failure = result.outcome.failure
    return f" ({failure.kind}): {failure.message}" if failure else ""


def _after_colon(text: str) -> str:
    return f": {text}" if text else ""


def _short(loss: Loss) -> Loss:
    stage, reason = loss
    return stage, one_line(reason, MAX_REASON) or "no reason is given"
