"""The findings of one trial."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain

from trialbed.integrity._answer_key import answer_key, end_of, unsourced
from trialbed.records import ApiCall, IntegrityFinding, IntegrityKind, ModelCall, Outcome, Query, ToolSpec, WireLog
from trialbed.tool_calls import call_sources, compare_calls, is_forced, replaced
from trialbed.wire import recorded_request
from trialbed.wire_log import failed

EXAMPLES = 5
"""Names of one kind that are kept."""

LONGEST = 100
"""Characters of one of them."""

OLD_FIELDS = frozenset({"functions", "function_call"})
"""Fields of a chat completion in which tools stood before there were ``tools``."""

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
    found: list[IntegrityFinding] = []
    refusals: dict[IntegrityKind, bool] = {"other_model": True, "other_model_answered": False}
    for kind, refused in refusals.items():
        names = [call.other_model for call in wire.model_calls if call.other_model and failed(call) == refused]
        found += [_finding(kind, len(names), names)] if names else []
    if added := [call.added for call in wire.model_calls if call.added]:
        found.append(_finding("added_header", len(added), chain.from_iterable(added)))
    found += _requests(wire, tools)
    origins = [] if in_process else [origin for origin, _ in call_sources(wire, tools)]
    if not in_process:
        for origin, kind in CALLS.items():
            titles = [call.api.title for call, own in zip(wire.api_calls, origins, strict=True) if own == origin]
            found += [_finding(kind, len(titles), titles)] if titles else []
        key = answer_key(query, wire, tools)
        found += [_finding("answer_key", len(key), key)] if key else []
    if outside:
        requests = ("the model" if isinstance(call, ModelCall) else call.api.title for call in outside)
        found.append(_finding("outside_clock", len(outside), requests))
    answer = outcome.answer
    if answer is not None and outcome.failure is None:
        if not in_process and wire.model_calls:
            counted = wire  # the same object if all calls count
            if not CALLS.keys().isdisjoint(origins):
                calls = (call for call, own in zip(wire.api_calls, origins, strict=True) if own not in CALLS)
                counted = wire.model_copy(update={"api_calls": tuple(calls)})
            if unsourced(query, answer.final_answer, counted):
                found.append(_finding("unsourced_answer", 1))
            elif replaced(answer.final_answer, counted):
                found.append(_finding("unwritten_answer", 1))
        invented = compare_calls(answer, wire).invented if answer.reports_calls else ()
        if invented:
            claims = (": ".join(filter(None, pair)) for pair in invented)
            found.append(_finding("invented_claim", len(invented), claims))
    return tuple(found)


def _requests(wire: WireLog, tools: Sequence[ToolSpec]) -> Iterator[IntegrityFinding]:
    """Yield the choices that requests leave the model, and the tools that they add."""
    forced, required, old, added, offered = [], 0, 0, dict[str, None](), None
    seen: dict[frozenset[str], list[str]] = {}
    names = {tool.name for tool in tools}
    for turn in wire.model_calls:
        request = recorded_request(turn)
        if request is None or failed(turn):
            continue
        old += not OLD_FIELDS.isdisjoint(request.document)
        if is_forced(request, len(tools)):
            forced.append(request.tool_choice.name or next(iter(request.names), ""))
        elif request.tool_choice.mode in ("required", "any"):
            required += 1
        unchanged, offered = request.document.get("tools") == offered, request.document.get("tools")
        if unchanged or request.names <= names:
            continue
        if request.names not in seen:
            from trialbed.wire.offers import Offers  # most requests offer the trial's tools alone

            # The functions that stand for none of them.
            offers, others = Offers(tools, request.tools), [function.name for function in request.tools]
            seen[request.names] = [name for name in others if name not in names and offers.tool(name) is None]
        added.update(dict.fromkeys(seen[request.names]))
    if old:
        yield _finding("old_functions", old)
    if required:
        yield _finding("required_choice", required)
    if forced:
        yield _finding("forced_choice", len(forced), forced)
    if added:
        yield _finding("added_tool", len(added), added)


def _finding(kind: IntegrityKind, count: int, names: Iterable[str] = ()) -> IntegrityFinding:
    examples = tuple(name[:LONGEST] for name in dict.fromkeys(names))[:EXAMPLES]
    return IntegrityFinding(kind=kind, count=count, examples=examples)


ALLOWANCE = 0.25
"""Seconds by which a message of a worker may be late before a request counts as outside of its time."""

Opening = tuple[datetime, datetime]
"""The times just before and just after a trial was opened, between which the server's clock of it began."""


def outside_clock(outcome: Outcome, wire: WireLog, opening: Opening) -> tuple[Outcome, Sequence[ModelCall | ApiCall]]:
    """Find the requests that were sent after the agent's time had ended, or answered before it began.

    An agent that works when its answer is read, or when it is closed, works after its time. Where it is not certain
    on which side of the two messages a request lies, it is within: an executor that is held up reads both messages
    late, so that the agent may have begun as much earlier as its last request ended before the second one was read.
    None are where the executor saw no end.

    Returns:
        The outcome, with a wall time that reaches from the first to the last of them where there are any; and the
        requests, in order.
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
