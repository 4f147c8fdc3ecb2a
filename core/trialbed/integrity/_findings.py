"""The findings of one trial."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from trialbed.integrity._answer_key import answer_key, end_of, unsourced
from trialbed.records import ApiCall, IntegrityFinding, IntegrityKind, ModelCall, Outcome, Query, ToolSpec, WireLog
from trialbed.tool_calls import (
    call_sources,
    compare_calls,
    ends_unseen,
    holds_last_text,
    invented_calls,
    is_forced,
    replaced,
)
from trialbed.wire import recorded_request
from trialbed.wire_log import failed

EXAMPLES = 5
"""Names of one kind that are kept."""

LONGEST = 100
"""Characters of a name."""

REFUSALS: dict[IntegrityKind, bool] = {"other_model": True, "other_model_answered": False}
"""Kind of finding on a request for another model -> whether it was refused."""

OLD_FIELDS = frozenset({"functions", "function_call"})
"""Fields for tools in a chat completion before ``tools`` existed."""

CALLS: dict[str, IntegrityKind] = {
    "forced": "forced_call",
    "dictated": "dictated_call",
    "changed": "changed_call",
    "none": "unasked_call",
}
"""Origin of a call that does not count -> kind of finding."""


def integrity_findings(
    query: Query,
    tools: Sequence[ToolSpec],
    outcome: Outcome,
    wire: WireLog,
    outside: Sequence[ModelCall | ApiCall] = (),
    *,
    in_process: bool = False,
) -> tuple[IntegrityFinding, ...]:
    """Return what bears on the integrity of a trial, by kinds.

    Args:
        outside: the requests outside of the agent's time.
        in_process: the agent is an object of the caller's process, which may ask a model that the gateway does not see:
            nothing is said of its calls and its answer.
    """
    found: dict[IntegrityKind, Sequence[str]] = {}
    for kind, refused in REFUSALS.items():
        found[kind] = [call.other_model for call in wire.model_calls if call.other_model and failed(call) == refused]
    found["added_header"] = [name for call in wire.model_calls for name in call.added]
    found |= _requests(wire, tools)
    origins = [] if in_process else [origin for origin, _ in call_sources(wire, tools)]
    kinds = {origin: kind for origin, kind in CALLS.items() if origin != "forced" or not query.allow_forced_calls}
    if not in_process:
        for origin, kind in kinds.items():
            found[kind] = [call.api.title for call, own in zip(wire.api_calls, origins, strict=True) if own == origin]
        found["invented_call"] = invented_calls(wire, query, tools)
        found["answer_key"] = answer_key(query, wire, tools)
    found["outside_clock"] = ["the model" if isinstance(call, ModelCall) else call.api.title for call in outside]
    answer = outcome.answer
    if answer is not None and outcome.failure is None:
        if not in_process and wire.model_calls:
            counted = wire  # the same object if all calls count
            if not kinds.keys().isdisjoint(origins):
                calls = (call for call, own in zip(wire.api_calls, origins, strict=True) if own not in kinds)
                counted = wire.model_copy(update={"api_calls": tuple(calls)})
            if unsourced(query, answer.final_answer, counted):
                found["unsourced_answer"] = [] if ends_unseen(query, tools, wire) else [""]
            elif replaced(answer.final_answer, counted) and not holds_last_text(answer.final_answer, counted):
                found["unwritten_answer"] = [""]
        if answer.reports_calls:
            found["invented_claim"] = [": ".join(filter(None, pair)) for pair in compare_calls(answer, wire).invented]
    # All but these have a name for each that is counted.
    counts: dict[IntegrityKind, int] = {"added_header": sum(bool(call.added) for call in wire.model_calls)}
    findings = []
    for kind, names in found.items():
        if names:
            examples = tuple(name[:LONGEST] for name in dict.fromkeys(filter(None, names)))[:EXAMPLES]
            findings.append(IntegrityFinding(kind=kind, count=counts.get(kind, len(names)), examples=examples))
    return tuple(findings)


def _requests(wire: WireLog, tools: Sequence[ToolSpec]) -> dict[IntegrityKind, Sequence[str]]:
    """Return the choices that requests leave the model, and the tools that they add."""
    found: dict[IntegrityKind, list[str]] = {"old_functions": [], "required_choice": [], "forced_choice": []}
    added, offered = dict[str, None](), None
    seen: dict[frozenset[str], list[str]] = {}
    names = {tool.name for tool in tools}
    for turn in wire.model_calls:
        request = recorded_request(turn)
        if request is None or failed(turn):
            continue
        if not OLD_FIELDS.isdisjoint(request.document):
            found["old_functions"].append("")
        if is_forced(request, len(tools)):
            found["forced_choice"].append(request.tool_choice.name or next(iter(request.names), ""))
        elif request.tool_choice.mode in ("required", "any"):
            found["required_choice"].append("")
        unchanged, offered = request.document.get("tools") == offered, request.document.get("tools")
        if unchanged or request.names <= names:
            continue
        if request.names not in seen:
            from trialbed.wire.offers import Offers  # most requests offer the trial's tools alone

            # The functions that stand for no tool of the trial.
            offers, others = Offers(tools, request.tools), [function.name for function in request.tools]
            seen[request.names] = [name for name in others if name not in names and offers.tool(name) is None]
        added.update(dict.fromkeys(seen[request.names]))
    # If all tools are the agent's own, no tool is an addition to others.
    own = {tool.name for tool in wire.own_tools}
    return {**found, "added_tool": [] if names <= own else list(added)}


ALLOWANCE = 0.25
"""Seconds that a worker's message may be late before a request counts as outside of its time."""

Opening = tuple[datetime, datetime]
"""The times just before and just after a trial was opened, between which the server's clock of it began."""


def outside_clock(outcome: Outcome, wire: WireLog, opening: Opening) -> tuple[Outcome, Sequence[ModelCall | ApiCall]]:
    """Find requests that were sent after the agent's time had ended, or answered before it began.

    An agent that works when its answer is read, or when it is closed, works after its time. A request that may lie on
    either side of a boundary counts as within. A delayed executor reads both messages late, and the agent may then have
    begun earlier. The difference is at most the time between the end of its last request and the reading of the second
    message. If the executor saw no end, no request is outside.

    Returns:
        The outcome, and the requests in order. If there are any, the outcome's wall time reaches from the first to the
        last of them.
    """
    if outcome.ended_at is None:
        return outcome, ()
    before, after = ((outcome.ended_at - opened).total_seconds() for opened in opening)
    ended, began = before + ALLOWANCE, after - outcome.wall_time - ALLOWANCE
    every: list[ModelCall | ApiCall] = [*wire.model_calls, *wire.api_calls]
    calls = sorted(every, key=lambda call: call.started)
    last = max((end_of(call) for call in calls if call.started <= ended), default=ended)
    began = min(began, last - outcome.wall_time - ALLOWANCE)
    outside = [call for call in calls if call.started > ended or end_of(call) < began]
    if outside:
        first = min(before - outcome.wall_time, outside[0].started)
        wall_time = max(before, *map(end_of, outside)) - first
        outcome = outcome.model_copy(update={"wall_time": wall_time})
    return outcome, outside
