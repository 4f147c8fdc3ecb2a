"""The calls that a model asked for, what became of each, and the expected calls that they stand for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter

from trialbed.identity import once_for
from trialbed.records import ApiCall, ApiRef, GoldCall, Json, ToolSpec, WireLog
from trialbed.tool_calls._alignment import (
    ArgumentFinding,
    Diagnosis,
    ToolCall,
    accuracy_of,
    align,
    are_in_order,
    f1_of,
    shown,
)
from trialbed.tool_calls._comparing import ValueComparer, matcher_of
from trialbed.tool_calls._origins import call_sources, canonical, requested_calls
from trialbed.wire import lenient_json
from trialbed.wire_log import failed

Place = tuple[float, int]
"""The time the model's answer was complete, and the place of a call in it."""

NOT_MADE = "the framework did not make the call"
FORGOTTEN = "the fact was no longer in the request"
"""The beginning of a loss's reason if a value was in an earlier turn, but in no request of this one."""

UNSEEN = "no later request shows its result"
"""The problem of an own tool's call without a result; it may have been made."""


@dataclass(frozen=True)
class AskedCall:
    """A call that the model asked for.

    Attributes:
        name: the name that the model sent, or the Api's title.
        api: the Api meant; None for a tool that was not offered.
        arguments: as the server got them, else as the model sent them; text if it cannot be parsed.
        started: seconds since the trial was opened.
        reached: whether the virtual API saw it.
        problem: why there is no result, which is the Api's error, the fault of the call, or that the framework did not
            make it. Empty if the Api accepted it.
        response: of the Api.
        asked: when the model's answer with the call was complete, in the same seconds; None without such an answer, for
            example if the agent has its own model.
        sent: the arguments that the model sent, if the server got others; empty if they are the same.
    """

    name: str
    api: ApiRef | None
    arguments: Json
    started: float
    reached: bool
    problem: str = ""
    response: Json = None
    asked: float | None = None
    sent: str = ""

    @property
    def accepted(self) -> bool:
        """True if an Api gave a result for it."""
        return not self.problem

    @cached_property
    def signature(self) -> str:
        """The arguments as canonical JSON; equal for calls that ask for the same."""
        return canonical(self.arguments)


@once_for(8)
def asked_calls(wire: WireLog, tools: Sequence[ToolSpec], unasked: Collection[ApiCall] = ()) -> tuple[AskedCall, ...]:
    """Return every call that the model asked for, with calls that never reached an Api.

    They are in the order of the model's requests for them. Many frameworks make the calls of one answer concurrently.
    These reach the Apis in any order, which says nothing about the model.

    A call that was sent and can be made accounts for one that the virtual API saw, with the same arguments or else with
    others, as frameworks convert and repair them. If no such call is left, the framework did not make it. Calls of the
    framework's own tools are skipped.

    Args:
        unasked: the calls that no answer of the model asked for, as ``unasked_calls`` gives them.
    """
    excluded = {id(call) for call in unasked}
    refs, own = {tool.name: tool.api for tool in tools}, {tool.name for tool in wire.own_tools}
    reached = {call.api for call in wire.api_calls}
    turns = [(turn.started + turn.duration, () if failed(turn) else turn.tool_calls) for turn in wire.model_calls]
    sent = {(number, at): call for number, (_, calls) in enumerate(turns) for at, call in enumerate(calls)}
    found, made = list[tuple[Place, AskedCall]](), set[tuple[int, int]]()
    for got, (_, one) in zip(wire.api_calls, call_sources(wire, tools), strict=True):
        if id(got) in excluded:
            continue
        # A call that the model asked for nowhere has the time when it was made.
        place, written = (got.started, -1), ""
        if one is not None and one.place in sent and not one.barred and one.call.problem is None:
            made.add(one.place)
            place = turns[one.place[0]][0], one.place[1]
            written = "" if one.arguments == canonical(got.arguments) else one.call.arguments
        problem = got.error or ("" if got.status == 200 else f"HTTP status {got.status}")
        args = got.api.title, got.api, got.arguments, got.started, True, problem, got.response, place[0], written
        found.append((place, AskedCall(*args)))
    requested = {one.place: one.barred for one in requested_calls(wire, tools)}
    for at, call in sent.items():
        api, barred, ended = refs.get(call.tool_name), requested.get(at, ""), turns[at[0]][0]
        # A forced call of the agent's own tool is often its output; no request shows its result.
        is_output = barred == "forced" and call.tool_name in own and api not in reached
        if at in made or (barred and not is_output) or (api is None and call.problem is None):
            continue
        problem = call.problem or (UNSEEN if call.tool_name in own else NOT_MADE)
        found.append(((ended, at[1]), AskedCall(call.name, api, call.arguments, ended, False, problem)))
    return tuple(call for _, call in sorted(found, key=itemgetter(0)))


SHOWN = 60
"""Characters of a value in a text."""

UNREADABLE = "the arguments are not a JSON object"


@dataclass(frozen=True)
class AlignedCall:
    """An expected call, and the call that stands for it.

    Attributes:
        gold: the expected call.
        call: the call that stands only for it; None if no call of its Api is left.
        points: how far their arguments agree, from 0 to 1; 1 if the expected call names no arguments, 0 without a call.
        arguments: the finding on each argument.
    """

    gold: GoldCall
    call: AskedCall | None = None
    points: float = 0.0
    arguments: tuple[ArgumentFinding, ...] = ()

    @property
    def right(self) -> bool:
        """True if there is a call with the right arguments."""
        return self.call is not None and self.points == 1

    @property
    def difference(self) -> str:
        """The differences between the arguments, in words; empty without any."""
        if self.call is None:
            return "not called"
        if not self.right and _read_arguments(self.call.arguments) is None:
            return UNREADABLE
        texts = {"missing": "{0.name} is missing", "extra": "{0.name} is not in the expected call"}
        differing = (found for found in self.arguments if found.points is not None and found.points < 1)
        return "; ".join(
            texts[found.status].format(found)
            if found.status in texts
            else f"{found.name}: {shown(found.given, SHOWN)} {_instead_of(found.wanted)}"
            for found in differing
        )

    @property
    def fault(self) -> str:
        """A sentence on how the call was not made as expected; empty if it was."""
        name, difference = self.gold.api.api_name, self.difference
        if self.call is None:
            return f"{name} was not called"
        if difference == UNREADABLE:
            return f"{name} was asked for with arguments that are not a JSON object"
        return f"{name} was called with wrong arguments: {difference}" if difference else ""


def _instead_of(wanted: Json) -> str:
    check = wanted.get("check") if matcher_of(wanted) == "$any" else None
    return f"is refused by {check}" if check else f"instead of {shown(wanted, SHOWN)}"


@dataclass(frozen=True)
class Alignment:
    """The expected calls of a query and the calls of a trial.

    Attributes:
        gold: every expected call, in order, with the call that stands for it.
        others: the calls that stand for no expected call, in order.
        f1: the metric ``tool_call_f1`` of the calls; ``accuracy``: ``tool_call_accuracy``, which counts their order.
    """

    gold: tuple[AlignedCall, ...]
    others: tuple[AskedCall, ...]
    f1: Diagnosis
    accuracy: Diagnosis


@once_for(8)
def align_gold_calls(gold: Sequence[GoldCall], calls: Sequence[AskedCall], tools: Sequence[ToolSpec]) -> Alignment:
    """Pair each expected call with one call of its Api, to make most arguments agree.

    Of equal calls, an accepted one is preferred to a failed one.

    Args:
        calls: the calls that the model asked for, in order.
        tools: the tools on offer, for the schemas of the arguments.
    """
    # Of pairs that are worth the same, the earlier is taken.
    places = sorted(range(len(calls)), key=lambda place: not calls[place].accepted)
    ordered = [calls[place] for place in places]
    wanted = [ToolCall(_key(call.api), call.arguments) for call in gold]
    schemas = {_key(tool.api): tool.parameters for tool in tools}
    made = [ToolCall(_key(one.api), _read_arguments(one.arguments) or {}, problem=one.problem) for one in calls]
    groups = [(call,) for call in wanted]
    rows = align([made[place] for place in places], groups, schemas, ValueComparer(), ordered=False)
    f1 = f1_of(rows, len(made), len(wanted))
    pairs = [(row.made, row.right, row) for row in rows if row.made is not None and row.right is not None]
    # The best pairs of all are also the best in order, if they are in order.
    in_order = places == sorted(places) and are_in_order([(given, wanted) for given, wanted, _ in pairs])
    ordered_rows = rows if in_order else align(made, groups, schemas, ValueComparer(), ordered=True)
    found = [AlignedCall(one) for one in gold]
    for given, right, row in pairs:
        found[right] = AlignedCall(gold[right], ordered[given], row.points, row.arguments)
    taken = {id(one.call) for one in found}
    for place, one in enumerate(found):
        call = one.call
        if call is not None and not call.accepted:
            # An equal call that was accepted and stands for no expected call.
            free = (other for other in calls if other.accepted and id(other) not in taken)
            equal = next((other for other in free if (other.api, other.signature) == (call.api, call.signature)), None)
            if equal is not None:
                taken ^= {id(call), id(equal)}
                found[place] = replace(one, call=equal)
    others = tuple(call for call in calls if id(call) not in taken)
    return Alignment(tuple(found), others, f1, accuracy_of(ordered_rows, "strict"))


def _key(api: ApiRef | None) -> str:
    """Return a name for an Api; empty for a tool that was not offered."""
    return " / ".join((api.category, api.tool_name, api.api_name)) if api else ""


def _read_arguments(value: Json) -> dict[str, Json] | None:
    """Return the arguments of a call, or None if they are not an object."""
    if isinstance(value, str):
        value = lenient_json(value or "{}")
    return value if isinstance(value, dict) else None
