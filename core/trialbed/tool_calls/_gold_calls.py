"""Aligns the calls of a trial with the query's expected calls, as the metrics of tool calls do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trialbed.identity import once_for
from trialbed.records import ApiRef, GoldCall, Json, ToolSpec
from trialbed.tool_calls._alignment import accuracy_of, align, are_in_order, f1_of
from trialbed.tool_calls._asked import AskedCall
from trialbed.tool_calls._comparing import ValueComparer
from trialbed.tool_calls._diagnosis import ArgumentFinding, Diagnosis, ToolCall, shown
from trialbed.tool_calls._matchers import matcher_of
from trialbed.wire import lenient_json

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
