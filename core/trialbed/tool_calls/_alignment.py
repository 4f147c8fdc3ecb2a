"""Aligns the calls made with those wanted, and gives points to each pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trialbed.errors import DataError
from trialbed.tool_calls._comparing import ValueComparer, as_json
from trialbed.tool_calls._diagnosis import (
    ArgumentFinding,
    ArgumentStatus,
    CallFinding,
    Diagnosis,
    MetricResult,
    quantity,
)
from trialbed.tool_calls._matching import Pairs, are_given, are_in_order, free_pairs, ordered_pairs
from trialbed.tool_calls._rules import NO_SCHEMA, Schema, property_schema
from trialbed.tool_calls._types import ToolCall

Tools = Mapping[str, Schema]
"""Name of a tool -> JSON Schema of its arguments."""
ACCURACY = "tool_call_accuracy"
F1 = "tool_call_f1"
NO_CALLS = "no calls were made, and none were expected"


def align(
    made: Sequence[ToolCall],
    groups: Sequence[Sequence[ToolCall]],
    tools: Tools,
    comparer: ValueComparer,
    *,
    ordered: bool,
) -> tuple[CallFinding, ...]:
    """Return the rows of the best alignment: pairs, then missing calls, where they are due, and extra ones.

    Args:
        groups: the calls wanted; those of one group in any order.
        ordered: whether the groups have an order. Pairs of one name that break it give no points.
    """
    right = [call for group in groups for call in group]

    compared: dict[tuple[int, int], tuple[float, tuple[ArgumentFinding, ...], str]] = {}

    def found(given: int, wanted: int) -> tuple[float, tuple[ArgumentFinding, ...], str]:
        pair = given, wanted
        if pair not in compared:
            schema = tools.get(right[wanted].name, NO_SCHEMA)
            compared[pair] = compare_calls(made[given], right[wanted], schema, comparer)
        return compared[pair]

    names = [call.name for call in made], [call.name for call in right]
    pairs = _pairs(groups, names, lambda given, wanted: found(given, wanted)[0], ordered=ordered)
    taken = {given for given, _ in pairs}, {wanted for _, wanted in pairs}
    left = [place for place in range(len(made)) if place not in taken[0]]
    due = [place for place in range(len(right)) if place not in taken[1]]
    late = free_pairs(left, due, names, lambda given, wanted: found(given, wanted)[0])
    rows = [_pair_row(made[given], given, wanted, found(given, wanted)) for given, wanted in pairs]
    rows += [
        CallFinding(
            "out of order",
            made[given].name,
            given,
            wanted,
            0.0,
            found(given, wanted)[1],
            "others come before it",
            made[given].args,
        )
        for given, wanted in late
    ]
    rows += _alone(made, right, [*pairs, *late])
    return tuple(sorted(rows, key=_place))


def compare_calls(
    made: ToolCall, right: ToolCall, schema: Schema, comparer: ValueComparer
) -> tuple[float, tuple[ArgumentFinding, ...], str]:
    """Compare a pair of calls of one name: return the points, the finding on each argument, and a note.

    The points are the mean over the arguments that count: those of the reference, and those that are extra. Left out,
    an argument counts as its default, and ``null`` as left out.
    """
    if right.args is None:
        return 1.0, (), "any arguments are right"
    if made.args is None:
        return 1.0, (), "the arguments of the call are not known"
    try:
        findings = tuple(_arguments(right.name, made.args, right.args, schema, comparer))
    except RecursionError:
        raise DataError(f"{right.name}: the arguments are nested too deeply to be compared") from None
    counted = [finding.points for finding in findings if finding.points is not None]
    return (sum(counted) / len(counted) if counted else 1.0), findings, made.problem


def _arguments(
    tool: str, made: Mapping[str, Any], right: Mapping[str, Any], schema: Schema, comparer: ValueComparer
) -> Iterable[ArgumentFinding]:
    for name, wanted in right.items():
        part = property_schema(schema, name)
        if comparer.ignores(tool, name):
            yield ArgumentFinding(name, "ignored", made.get(name), wanted, "ignore", None)
        elif name in made:
            compared = comparer.compare(tool, name, made[name], wanted, part)
            status = _status(compared.points)
            yield ArgumentFinding(name, status, made[name], wanted, compared.rule, compared.points, compared.note)
        else:
            yield _left_out(tool, name, wanted, part, comparer)
    for name, given in made.items():
        if name in right:
            continue
        part = property_schema(schema, name)
        ignored = comparer.ignores(tool, name)
        usual = given is None or (
            "default" in part and comparer.compare(tool, name, given, part["default"], part).points == 1
        )
        if ignored or usual:
            why = "" if ignored else "null counts as left out" if given is None else "it is the default"
            yield ArgumentFinding(name, "ignored", given, None, "ignore" if ignored else "default", None, why)
        else:
            yield ArgumentFinding(name, "extra", given, None, "extra", 0.0)


def _left_out(tool: str, name: str, wanted: Any, schema: Schema, comparer: ValueComparer) -> ArgumentFinding:
    if wanted is None:
        return ArgumentFinding(name, "default", None, None, "default", 1.0, "null counts as left out")
    if "default" in schema and comparer.compare(tool, name, schema["default"], wanted, schema).points == 1:
        return ArgumentFinding(name, "default", None, wanted, "default", 1.0)
    return ArgumentFinding(name, "missing", None, wanted, "missing", 0.0)


def _status(points: float) -> ArgumentStatus:
    if points == 1:
        return "matched"
    return "partly matched" if points else "differs"


def _pairs(
    groups: Sequence[Sequence[ToolCall]], names: tuple[Sequence[str], Sequence[str]], worth: Any, *, ordered: bool
) -> Pairs:
    free = not ordered or len(groups) == 1
    if free or are_given(names):
        found = free_pairs(range(len(names[0])), range(len(names[1])), names, worth)
        if free or are_in_order(found):
            return found
    places, begin = [], 0
    for group in groups:
        places.append(range(begin, begin + len(group)))
        begin += len(group)
    return ordered_pairs([place for place in places if place], names, worth)


def _pair_row(
    call: ToolCall, given: int, wanted: int, found: tuple[float, tuple[ArgumentFinding, ...], str]
) -> CallFinding:
    points, arguments, note = found
    status = "matched" if points == 1 else "partly matched" if points else "wrong arguments"
    return CallFinding(status, call.name, given, wanted, points, arguments, note, call.args)  # type: ignore[arg-type]


def _alone(made: Sequence[ToolCall], right: Sequence[ToolCall], pairs: Pairs) -> list[CallFinding]:
    """Return the rows of calls that are in no pair."""
    used, met = {given for given, _ in pairs}, {wanted for _, wanted in pairs}
    rows = [
        CallFinding("missing", call.name, None, place, 0.0, args=call.args)
        for place, call in enumerate(right)
        if place not in met
    ]
    left = [place for place in range(len(made)) if place not in used]
    known = {_same(made[place]) for place in used} if left else set()
    for place in left:
        call = made[place]
        again = _same(call) in known
        rows.append(
            CallFinding("duplicate" if again else "extra", call.name, place, None, 0.0, (), call.problem, call.args)
        )
        known.add(_same(call))
    return rows


def _same(call: ToolCall) -> str:
    args = None if call.args is None else {name: value for name, value in call.args.items() if value is not None}
    return f"{call.name} {as_json(args)}"


def _place(row: CallFinding) -> tuple[float, float]:
    """By the calls made; a missing one stands where its reference is."""
    made = row.right if row.made is None else row.made
    return (float(made or 0), 0.5 if row.made is None else 0.0)


def accuracy_of(rows: tuple[CallFinding, ...], order: str, notes: tuple[str, ...] = ()) -> MetricResult:
    """Points of all calls over the number of calls."""
    points = sum(row.points for row in rows)
    value = points / len(rows) if rows else 1.0
    formula = f"{quantity(points, 'point')} of {quantity(len(rows), 'call')}" if rows else NO_CALLS
    return MetricResult(ACCURACY, value, Diagnosis(ACCURACY, value, formula, rows, order, notes=notes))


def f1_of(rows: tuple[CallFinding, ...], made: int, right: int, notes: tuple[str, ...] = ()) -> MetricResult:
    """Return the harmonic mean of the points per call made and per call that is right.

    Args:
        made: the number of calls that were made; ``right``: of those that are right.
    """
    points = sum(row.points for row in rows)
    precision, recall = (points / count if count else float(made == right) for count in (made, right))
    value = 2 * points / (made + right) if made + right else 1.0
    formula = f"2 x {quantity(points, 'point')} / ({quantity(made, 'call')} made + {right} right)"
    if not rows:
        formula = NO_CALLS
    return MetricResult(F1, value, Diagnosis(F1, value, formula, rows, "", "", precision, recall, notes))
