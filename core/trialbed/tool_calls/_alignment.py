"""Aligns the calls made with those wanted, gives points to each pair, and tells why."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import accumulate, permutations
from operator import itemgetter
from typing import Any, Literal

from trialbed.errors import DataError
from trialbed.texts import group_by_key
from trialbed.tool_calls._comparing import NO_SCHEMA, Schema, ValueComparer, as_json, matcher_of, property_schema


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool.

    Attributes:
        name: of the tool.
        args: the arguments by name. None in a reference that only names the tool and accepts any arguments, and in a
            call made without a record of them.
        id: the model's id for the call; may be empty.
        problem: why ``args`` differs from the model's arguments, for example because they are not JSON; empty if it
            does not.
    """

    name: str
    args: Mapping[str, Any] | None
    id: str = ""
    problem: str = ""


ArgumentStatus = Literal["matched", "partly matched", "differs", "missing", "extra", "default", "ignored"]
CallStatus = Literal["matched", "partly matched", "wrong arguments", "missing", "extra", "duplicate", "out of order"]

SHOWN = 80
"""Characters of a value in a text."""


@dataclass(frozen=True, slots=True)
class ArgumentFinding:
    """One argument of a pair of calls.

    Attributes:
        given: the value in the call made; ``wanted``: in the reference. None if it is absent (see ``status``).
        rule: the rule for comparing the two.
        points: from 0 to 1; None if it does not count.
    """

    name: str
    status: ArgumentStatus
    given: Any
    wanted: Any
    rule: str
    points: float | None

    def __str__(self) -> str:
        given, wanted = shown(self.given), shown(self.wanted)
        found = {
            "missing": f"missing, {wanted} is right",
            "extra": f"{given} is extra",
            "default": f"left out, {wanted} is the default",
            "ignored": "not compared",
            "matched": f"{given} is right",
        }.get(self.status, f"{given} instead of {wanted}")
        said = f"{self.name}: {found} ({self.rule})"
        return said if self.points is None else f"{said} {self.points:.2f}"


@dataclass(frozen=True, slots=True)
class CallFinding:
    """One row of the alignment, which is a call made, a call wanted, or a pair of them.

    Attributes:
        made: the place of the call made, from 0; ``right``: the place in the reference. None if it is absent.
        points: of the row, from 0 to 1.
        arguments: of a pair; empty for other rows.
        args: the arguments of the call made, or of the reference if no call was made; None if they are not known.
        note: the reason for lost points, if the arguments do not show it.
    """

    status: CallStatus
    name: str
    made: int | None
    right: int | None
    points: float
    arguments: tuple[ArgumentFinding, ...] = ()
    note: str = ""
    args: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        made = "-" if self.made is None else f"call {self.made + 1}"
        right = "-" if self.right is None else f"reference {self.right + 1}"
        given = ", ".join(f"{name}={shown(value)}" for name, value in (self.args or {}).items())
        given = given if len(given) <= 2 * SHOWN else f"{given[: 2 * SHOWN]}…"
        called = self.name if self.args is None else f"{self.name}({given})"
        line = f"{made:<8} {right:<12} {called}: {self.status} {self.points:.2f}"
        return f"{line}{f'; {self.note}' if self.note else ''}"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The reasons for a score.

    Attributes:
        metric: its name; ``order`` is ``strict`` or ``flexible`` if it counts, else empty.
        compat: the program whose rules were followed, such as ``ragas``; empty for Trialbed's own.
        formula: how the value follows from the rows, with the numbers in it.
        calls: the rows of the alignment; none if the rules were another program's.
    """

    metric: str
    value: float
    formula: str
    calls: tuple[CallFinding, ...]
    order: str = ""
    compat: str = ""
    precision: float | None = None
    recall: float | None = None

    @property
    def wrong(self) -> tuple[CallFinding, ...]:
        """The rows that did not give a full point."""
        return tuple(call for call in self.calls if call.points < 1)

    def as_json(self) -> dict[str, Any]:
        """Return the diagnosis as a JSON object."""
        return asdict(self)

    def __str__(self) -> str:
        how = ", ".join(word for word in (f"{self.order} order" if self.order else "", self.compat) if word)
        lines = [f"{self.metric} {self.value:.4g} = {self.formula}{f' ({how})' if how else ''}"]
        for call in self.calls:
            lines.append(f"  {call}")
            lines += [f"      {argument}" for argument in call.arguments if argument.points != 1]
        return "\n".join(lines)


def quantity(number: float, word: str) -> str:
    """Return a number of things: ``1 call``, ``2.5 points``."""
    return f"{number:.4g} {word}{'' if number == 1 else 's'}"


def shown(value: Any, longest: int = SHOWN) -> str:
    """Return a value as JSON, cut if it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= longest else f"{text[:longest]}…"


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
    """Return the rows of the best alignment in the order of the calls made, with missing calls in their places.

    Args:
        groups: the calls wanted; calls in a group may be in any order.
        ordered: whether the groups have an order. Pairs of one name that break it give no points.
    """
    right = [call for group in groups for call in group]

    @cache
    def found(given: int, wanted: int) -> Compared:
        return _compare(made[given], right[wanted], tools.get(right[wanted].name, NO_SCHEMA), comparer)

    names = [call.name for call in made], [call.name for call in right]
    pairs = _pairs(groups, names, found, ordered=ordered)
    taken = {given for given, _ in pairs}, {wanted for _, wanted in pairs}
    left = [place for place in range(len(made)) if place not in taken[0]]
    due = [place for place in range(len(right)) if place not in taken[1]]
    late = free_pairs(left, due, names, found)
    rows: list[CallFinding] = []
    for given, wanted in (*pairs, *late):
        points, arguments, note = found(given, wanted)
        status: CallStatus = "matched" if points == 1 else "partly matched" if points else "wrong arguments"
        if given not in taken[0]:
            status, points, note = "out of order", 0.0, "others come before it"
        call = made[given]
        rows.append(CallFinding(status, call.name, given, wanted, points, arguments, note, call.args))
    used, met = ({pair[side] for pair in (*pairs, *late)} for side in (0, 1))
    rows += [
        CallFinding("missing", call.name, None, place, 0.0, args=call.args)
        for place, call in enumerate(right)
        if place not in met
    ]
    same = {_same(made[place]) for place in used} if len(used) < len(made) else set()
    for place, call in enumerate(made):
        if place not in used:
            status = "duplicate" if _same(call) in same else "extra"
            rows.append(CallFinding(status, call.name, place, None, 0.0, (), call.problem, call.args))
            same.add(_same(call))
    # In the order of the calls made; a missing one has the place of its reference.
    return tuple(sorted(rows, key=lambda row: (row.right or 0, 0.5) if row.made is None else (row.made, 0.0)))


def _compare(made: ToolCall, right: ToolCall, schema: Schema, comparer: ValueComparer) -> Compared:
    """Compare a pair of calls of one name.

    The points are the mean over all arguments of the reference and all extra arguments. An omitted argument counts as
    its default, and ``null`` as omitted.
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
    for name in dict.fromkeys((*right, *made)):
        part, given, wanted = property_schema(schema, name), made.get(name), right.get(name)
        if comparer.own_rule(tool, name) == "ignore":
            yield ArgumentFinding(name, "ignored", given, wanted, "ignore", None)
            continue
        is_pair, is_null = name in made and name in right, given is None and wanted is None
        points, rule = 0.0, ""
        if is_pair or ("default" in part and not is_null):
            usual = part.get("default")
            points, rule = comparer.compare(tool, name, made.get(name, usual), right.get(name, usual), part)
        if is_pair:
            status: ArgumentStatus = "matched" if points == 1 else "partly matched" if points else "differs"
            yield ArgumentFinding(name, status, given, wanted, rule, points)
        elif name in right and matcher_of(wanted) == "$optional":
            yield ArgumentFinding(name, "ignored", None, wanted, "optional", None)
        elif is_null or points == 1:
            if name in right:
                yield ArgumentFinding(name, "default", None, wanted, "default", 1.0)
            else:
                yield ArgumentFinding(name, "ignored", given, None, "default", None)
        else:
            status = "missing" if name in right else "extra"
            yield ArgumentFinding(name, status, given, wanted, status, 0.0)


def _pairs(
    groups: Sequence[Sequence[ToolCall]], names: tuple[Sequence[str], Sequence[str]], compare: Compare, *, ordered: bool
) -> Pairs:
    free = not ordered or len(groups) == 1
    # If each name has at most one call made and one wanted, there is no choice of pairs.
    if free or all(len(set(own)) == len(own) for own in names):
        found = free_pairs(range(len(names[0])), range(len(names[1])), names, compare)
        if free or are_in_order(found):
            return found
    ends = zip(groups, accumulate(map(len, groups)), strict=True)
    return ordered_pairs([range(end - len(group), end) for group, end in ends if group], names, compare)


def _same(call: ToolCall) -> str:
    args = None if call.args is None else {name: value for name, value in call.args.items() if value is not None}
    return f"{call.name} {as_json(args)}"


def accuracy_of(rows: tuple[CallFinding, ...], order: str) -> Diagnosis:
    """Points of all calls over the number of calls."""
    points = sum(row.points for row in rows)
    value = points / len(rows) if rows else 1.0
    formula = f"{quantity(points, 'point')} of {quantity(len(rows), 'call')}" if rows else NO_CALLS
    return Diagnosis(ACCURACY, value, formula, rows, order)


def f1_of(rows: tuple[CallFinding, ...], made: int, right: int) -> Diagnosis:
    """Return the harmonic mean of the points per call made and per expected call.

    Args:
        made: the number of calls that were made; ``right``: the number of expected calls.
    """
    points = sum(row.points for row in rows)
    precision, recall = (points / count if count else float(made == right) for count in (made, right))
    value = 2 * points / (made + right) if made + right else 1.0
    formula = f"2 x {quantity(points, 'point')} / ({quantity(made, 'call')} made + {right} right)" if rows else NO_CALLS
    return Diagnosis(F1, value, formula, rows, "", "", precision, recall)


Compared = tuple[float, tuple[ArgumentFinding, ...], str]
"""The points of a pair of calls, the finding on each argument, and a note."""

Compare = Callable[[int, int], Compared]
"""(place of a call made, place of a call wanted) -> both compared; asked for pairs of one name only."""

Pairs = list[tuple[int, int]]
"""(place of a call made, place of a call wanted)."""

Names = tuple[Sequence[str], Sequence[str]]
"""The names of all calls made, and of all calls wanted."""

Value = tuple[float, int]
"""Points, and the number of pairs."""

SMALL = 3
"""Up to this many calls of one name, all assignments are tried, which avoids importing scipy."""


def free_pairs(made: Sequence[int], right: Sequence[int], names: Names, compare: Compare) -> Pairs:
    """Return the best pairs in any order, with as many pairs of each name as possible.

    Args:
        made: places of the calls made that are to be paired; ``right``: of those wanted.
        names: the names of all calls made, and of all wanted.
    """
    wanted = group_by_key((names[1][place], place) for place in right)
    given = group_by_key((names[0][place], place) for place in made if names[0][place] in wanted)
    return [pair for name, rows in given.items() for pair in _assign(rows, wanted[name], compare)]


def are_in_order(pairs: Pairs) -> bool:
    """Return whether the calls of the pairs stand in the same order on both sides."""
    wanted = [right for _, right in sorted(pairs)]
    return wanted == sorted(wanted)


def ordered_pairs(groups: Sequence[Sequence[int]], names: Names, compare: Compare) -> Pairs:
    """Return the best pairs in order. Calls of a group must be made after the calls of earlier groups.

    The best have the most points and, for equal points, the most pairs. They are found by a recursion over (groups,
    calls made), as for the longest common subsequence; a group of several calls takes a stretch of the calls made.
    """
    best: list[Value] = [(0.0, 0)] * (len(names[0]) + 1)
    taken: list[list[Pairs]] = []
    for group in groups:
        inside = {names[1][place] for place in group}
        places = [place for place, name in enumerate(names[0]) if name in inside]
        numbers = {place: number for number, place in enumerate(places)}
        before, best, pairs = best, list[Value](), list[Pairs]()
        for end, value in enumerate(before):
            choices: list[tuple[Value, Pairs]] = [(value, [])]
            last = numbers.get(end - 1, -1)  # the call of the group's names that the stretch ends with, if any
            if end and (len(group) == 1 or last < 0):
                choices.append((best[-1], pairs[-1]))
            for start in range(max(last, 0) if len(group) == 1 else 0, last + 1):
                found = free_pairs(places[start : last + 1], group, names, compare)
                points, count = before[places[start]]
                choices.append(((points + sum(compare(*pair)[0] for pair in found), count + len(found)), found))
            chosen = max(choices, key=itemgetter(0))
            best.append(chosen[0])
            pairs.append(chosen[1])
        taken.append(pairs)
    # Each group's stretch leads back to the one before it.
    way: Pairs = []
    end = len(names[0])
    for pairs in reversed(taken):
        way += pairs[end]
        end = min((place for place, _ in pairs[end]), default=end)
    return way


def _assign(rows: Sequence[int], columns: Sequence[int], compare: Compare) -> Pairs:
    if len(rows) <= SMALL and len(columns) <= SMALL:
        if len(rows) <= len(columns):
            choices = [list(zip(rows, chosen, strict=True)) for chosen in permutations(columns, len(rows))]
        else:
            choices = [list(zip(chosen, columns, strict=True)) for chosen in permutations(rows, len(columns))]
        return max(choices, key=lambda pairs: sum(compare(*pair)[0] for pair in pairs))
    from scipy.optimize import linear_sum_assignment

    table = [[compare(row, column)[0] for column in columns] for row in rows]
    chosen = linear_sum_assignment(table, maximize=True)
    return [(rows[row], columns[column]) for row, column in zip(*chosen, strict=True)]
