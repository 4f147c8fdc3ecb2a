"""Attribute each expected call of a trial, by whether its result reached the user, or which stage lost it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from trialbed.records import (
    NOT_MEASURED,
    STAGES,
    ApiCall,
    AttributedCall,
    ModelCall,
    Query,
    Stage,
    ToolSpec,
    TrialResult,
)
from trialbed.scoring import JUDGED
from trialbed.texts import json_leaves, one_line
from trialbed.tool_calls import (
    FORGOTTEN,
    NOT_MADE,
    UNSEEN,
    WRITTEN,
    AskedCall,
    Uses,
    asked_calls,
    find_forced_calls,
    has_own_result,
    is_written,
    last_turn,
    said,
    unasked_calls,
    uses_of,
    was_told,
)
from trialbed.wire_log import failed, limit_text

if TYPE_CHECKING:
    from trialbed.tool_calls import AlignedCall

Loss = tuple[Stage, str]
"""A stage, and the reason in words."""

ENDED = "the framework ended the run at a call that cannot be made"
"""The beginning of a loss's reason if the framework did not report an invalid call to the model."""

WROTE_RESULT = "it sent the model a result of its own (if the tool is the agent's, leave it out of the task's tools)"
"""The reason for a served tool's call that was not made, if a request has a result all the same."""

OF_THE_OFFER = "the framework's offer"
"""The beginning of a loss's reason if the framework's offer of tools caused it."""

UNTOLD = "the framework did not tell the model of its response"
REPLACED = "the framework gave another answer than the model's last text, which has something of its response"

STOPPED = "the agent ended after"
"""The beginning of a loss's reason if the model had asked for calls, and was never sent their results."""

UNOBSERVED = "the agent takes no tools and sent no model request: its calls are not observed"
"""The reason of a loss that is not known to be one."""

UNFINISHED = "the agent did not finish"
SILENT = "the agent sent the model no request"

OWN_FAILED = "the agent's own tool failed"
"""The beginning of a loss's reason if a tool that is not Trialbed's caused it."""

FORCED = "the request forced the call with tool_choice, so it does not count"

BY_FRAMEWORK = (ENDED, OF_THE_OFFER, UNTOLD, REPLACED, STOPPED, SILENT, FORCED, FORGOTTEN, OWN_FAILED)
"""The beginnings of reasons for losses by the framework, at any stage."""

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
"""The stages before a right call is known to have reached its Api; failed trials count as 0, as in every score."""

FAILED_BY = {"model": "model", "limit": "model"} | dict.fromkeys(
    ("endpoint", "replay", "server", "tool", "judge", "scorer"), "rig"
)
"""Kind of failure -> who lost the calls of the trial; the framework at all others."""


@dataclass(frozen=True)
class Attribution:
    """The expected calls of many trials by the stage that lost them, or as used.

    Attributes:
        counts: every stage in order, then ``used`` -> the expected calls that were lost there, or used.
        first: stage -> the query and the first of its calls that was lost there.
        losers: loser in ``LOSERS`` -> the expected calls that it lost.
    """

    counts: Mapping[str, int]
    first: Mapping[str, tuple[int | str, AttributedCall]] = field(default_factory=dict)
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


def count_calls(trials: Iterable[tuple[int | str, Iterable[Mapping[str, Any]], str]]) -> Attribution:
    """Count the expected calls of trials by stage and by who lost them.

    Args:
        trials: for each, its query, its expected calls with the fields of ``AttributedCall``, and the kind of its
            failure, or an empty text.
    """
    counts = Counter[str]()
    losers = Counter[str]()
    first: dict[str, tuple[int | str, AttributedCall]] = {}
    for query_id, calls, failure in trials:
        for call in calls:
            if call["reason"] in (UNSEEN, UNOBSERVED, WRITTEN):
                continue  # not observed, so no one can be blamed
            lost = call["lost"]
            counts[lost or USED] += 1
            if lost is not None:
                if lost not in first:
                    first[lost] = query_id, AttributedCall.model_validate(call)
                losers[loser_of(lost, call["reason"], failure)] += 1
    return Attribution({stage: counts[stage] for stage in (*STAGES, USED)}, first, dict(losers))


def loser_of(lost: str, reason: str, failure: str) -> str:
    """Return which of ``LOSERS`` lost an expected call; ``failure`` is the kind of its trial's failure, or empty."""
    if reason.startswith(BY_FRAMEWORK):
        return "framework"
    return FAILED_BY.get(failure, "framework") if lost == "trial failed" else LOST_BY[lost]


def unrequested_calls(result: TrialResult, tools: Sequence[ToolSpec], *, forced: bool = False) -> tuple[ApiCall, ...]:
    """Return the calls that no answer of the model asked for; none if the scorers found none.

    They know more than the wire: whether the agent may be led by a model that the gateway does not see.
    """
    score = result.score("unasked_calls")
    if not result.wire.model_calls or (score is not None and not score.value):
        return ()
    return unasked_calls(result.wire, tools, forced=forced)


def attribute(
    query: Query,
    tools: Sequence[ToolSpec],
    result: TrialResult,
    max_steps: int | None = None,
    *,
    takes_tools: bool = True,
) -> tuple[AttributedCall, ...]:
    """Attribute each expected call of a query in a scored trial, as used or as lost at a stage.

    A call is lost at the first stage that it does not pass. If a trial ended in an error, calls that were never asked
    for are lost by that error, because the model could not ask any more. Calls that no answer of the model asked for
    stand for no expected call.

    Args:
        tools: the tools that the query was offered.
        max_steps: the limit of requests to the model; an agent that ends at it is not to blame for the end.
        takes_tools: whether the agent takes the trial's tools.
    """
    if not query.gold_calls:
        return ()
    if not (takes_tools or result.wire.model_calls or result.wire.api_calls or result.outcome.failure):
        unknown = partial(AttributedCall, lost="not made", reason=UNOBSERVED)
        return tuple(unknown(gold=gold) for gold in query.gold_calls)
    from trialbed.tool_calls import align_gold_calls

    unasked = unrequested_calls(result, tools, forced=query.allow_forced_calls)
    forced = {call.api for call in find_forced_calls(result.wire, tools, unasked)}
    calls = asked_calls(result.wire, tools, unasked)
    by_api = {tool.api: tool for tool in tools}
    is_over = max_steps is not None and len(result.wire.model_calls) >= max_steps
    if result.wire.turns:  # the limit counts for each
        is_over = result.wire.turns[-1].at_limit
    ended, stopped = ("", "") if is_over else _ends(result, calls)
    found = []
    turns = [number for number, turn in enumerate(query.turns, 1) for _ in range(turn.calls)]
    for place, aligned in enumerate(align_gold_calls(query.gold_calls, calls, tools).gold):
        stage, reason = _loss(aligned, by_api.get(aligned.gold.api), query, tools, result, calls) or (None, "")
        call, last = aligned.call, result.wire.model_calls[-1] if ended and stage else None
        if stage == "not called" and stopped:
            reason = stopped
        if reason == UNFINISHED and is_over and not result.wire.turns:
            reason = f"{reason}: it was at its limit of {max_steps} requests (max_steps)"
        turn = turns[place] if place < len(turns) and query.user is None else 0
        if stage in ("not called", "not used") and (limited := limit_text(result.wire, turn)):
            reason = f"{reason}: {limited}"
        if stage == "not called" and aligned.gold.api in forced:
            reason = FORCED
        # The model could have made the call after its last answer, or in that one.
        if last is not None and (
            stage == "not called" if call is None else not call.reached and call.started >= last.started + last.duration
        ):
            reason = f"{ENDED}: {ended}"
        forgotten: tuple[int, ...] = ()
        if place < len(turns) and stage in ("not called", "wrong arguments") and not reason.startswith(BY_FRAMEWORK):
            from trialbed.history import find_forgotten  # only conversations need it

            at = turns[place]
            if query.user is not None:  # the turn of a call that was made, or the last one
                begins = [turn.started for turn in result.wire.turns]
                at = bisect_right(begins, call.started) if call else len(begins)
            lost = find_forgotten(result.wire, at, json_leaves(aligned.gold.arguments))
            reason, forgotten = lost or (reason, ())
            if stage == "not called" and at <= len(result.wire.turns) and not result.wire.of_turn(at).model_calls:
                reason = f"{SILENT} in turn {at}"
        shown = one_line(reason, MAX_REASON) or ("no reason is given" if stage else "")
        is_by_framework = stage == "not made" or reason.startswith(BY_FRAMEWORK)
        requests = forgotten or (_requests(result, call) if is_by_framework and reason != UNSEEN else ())
        found.append(AttributedCall(gold=aligned.gold, lost=stage, reason=shown, requests=requests))
    return tuple(found)


def _requests(result: TrialResult, call: AskedCall | None) -> tuple[int, ...]:
    """Return the numbers of the request that was answered with a call, and of the next; without a call, of the last."""
    turns = result.wire.model_calls
    asked = None if call is None else call.started if call.asked is None else call.asked
    number = next((at for at, turn in enumerate(turns, 1) if turn.started + turn.duration == asked), len(turns))
    return tuple(range(number, min(number + 1, len(turns)) + 1)) if number else ()


def _unsent(tool: ToolSpec, turns: Sequence[ModelCall]) -> str:
    """Return why a tool was not called, because the model wrote the call as text, or did not ask for it."""
    from trialbed.wire import recorded_answer, written_calls  # most runs lose no call

    offered = {tool.name: tool.parameters}
    for turn in turns:
        if tool.name in turn.response and not turn.tool_calls:
            answer = recorded_answer(turn).answer
            if any(call.is_made for call in written_calls(answer.text, offered)):
                return "the model wrote the call as text"
            if any(call.is_made for call in written_calls(answer.reasoning, offered)):
                return "the model wrote the call as text, in its reasoning"
    return "the model did not ask for it" if turns else SILENT


def _loss(
    aligned: AlignedCall,
    tool: ToolSpec | None,
    query: Query,
    tools: Sequence[ToolSpec],
    result: TrialResult,
    calls: Sequence[AskedCall],
) -> Loss | None:
    """Return the first stage that an expected call did not pass, with the reason; None if its result was used."""
    call, failure = aligned.call, result.outcome.failure
    if tool is None and is_written(aligned.gold.api, query, result.wire):
        return "not made", WRITTEN
    if tool is None and aligned.gold.api in query.own_tools:
        return "not offered", "the agent has no such tool" if result.wire.model_calls else SILENT
    if tool is None:
        return "not offered", "its tool was not selected"
    stage: Stage
    failed_with = f" ({failure.kind}): {failure.message}" if failure else ""
    if call is None:
        for lost in reversed(result.wire.lost):
            if lost.tool == tool.name:
                detail = f": {lost.detail}" if lost.detail else ""
                stage = "wrong arguments" if lost.reason == "arguments" else "not offered"
                return stage, f"{OF_THE_OFFER}: {lost.reason}{detail}"
        if failure is not None:
            return "trial failed", f"before it was called{failed_with}"
        return "not called", _unsent(tool, result.wire.model_calls)
    error = f"; it failed: {call.problem}" if call.problem else ""
    if not aligned.right and call.sent:
        from trialbed.tool_calls import align_gold_calls

        as_sent = replace(call, arguments=call.sent, problem="")
        if align_gold_calls([aligned.gold], [as_sent], tools).gold[0].right:
            return "not made", f"the framework changed the arguments that the model sent: {aligned.difference}{error}"
    wrong = {found.name for found in aligned.arguments if found.points is not None and found.points < 1}
    if wrong and wrong <= {item.argument for item in result.wire.filled if item.tool == tool.name}:
        return "wrong arguments", f"{OF_THE_OFFER}: it requires optional arguments: {aligned.difference}{error}"
    if call.problem == UNSEEN:
        if failure is not None:
            return "trial failed", f"before its result came back{failed_with}"
        return "not made", UNSEEN
    if not call.reached and call.problem != NOT_MADE:
        return "wrong arguments", call.problem
    if not aligned.right:
        return "wrong arguments", f"{aligned.difference}{error}"
    if not call.reached:
        wrote = has_own_result(result.wire, call.name, call.arguments)
        return "not made", f"{call.problem}{f'; {WROTE_RESULT}' if wrote else ''}"
    if not call.accepted:
        from trialbed.wire.json_schemas import schema_problems  # most runs lose no call

        if schema_problems(tool.parameters, call.arguments, most=1):
            return "wrong arguments", call.problem
        return "api failed", f"{OWN_FAILED}: {call.problem}" if tool in result.wire.own_tools else call.problem
    if failure is not None:
        return "trial failed", f"after the call{failed_with}"
    return _loss_by_disuse(call, query, result, calls)


def _ends(result: TrialResult, calls: Sequence[AskedCall]) -> tuple[str, str]:
    """Return how the framework ended the run with the model's last answer; two empty texts if it did not.

    Returns:
        The problem of the answer's calls, if all are faulty and the framework did not say so. A text saying that the
        agent made the calls and ended.
    """
    turns, failure = result.wire.model_calls, result.outcome.failure
    if not turns or failed(turns[-1]):
        return "", ""
    last, ended = turns[-1], ""
    wrong = [call.problem or "" for call in last.tool_calls]
    if wrong and all(wrong) and (failure is None or failure.kind not in NOT_BY_FRAMEWORK):
        ended = wrong[0]
    end = last.started + last.duration
    # Not a call that repeats an earlier one, because the model was sent its result.
    known = {(call.api, call.signature) for call in calls if call.asked is not None and call.asked < end}
    new = [call for call in calls if call.reached and call.asked == end and (call.api, call.signature) not in known]
    made = dict.fromkeys(call.api.api_name for call in new if call.api)
    if not last.tool_calls or not made:
        return ended, ""
    requests = "1 request" if len(turns) == 1 else f"{len(turns)} requests"
    return ended, f"{STOPPED} {requests} without passing the result of {' and '.join(made)} back"


def _loss_by_disuse(call: AskedCall, query: Query, result: TrialResult, calls: Sequence[AskedCall]) -> Loss | None:
    answer, solved, last = result.outcome.answer, result.score(JUDGED), last_turn(result.wire)
    # If all that a task expects is met, its results were used, even if no text has them: by a yes.
    if query.expected is not None and solved is not None and solved.label == "Solved":
        return None
    if answer is None or answer.finish is None:
        return "not used", UNFINISHED
    if answer.finish != "give_answer":
        return "not used", "the agent gave up"
    if uses_of(query, result.wire.all_said(answer.final_answer), calls).shows(call) is not False:
        return None
    if last is not None and any(Uses(query, text, calls).of(call) for text in said(last)):
        return "not used", REPLACED
    if was_told(result.wire, call.arguments, call.response, call.started) is False:
        return "not used", UNTOLD
    return "not used", "nothing of its response is in the answer or in a later call"
