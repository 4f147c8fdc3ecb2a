"""Tool-call accuracy and F1 as Ragas 0.4.3 computes them, to the last bit, with the reasons.

The rules are those of ``ToolCallAccuracy`` and ``ToolCallF1`` of ``ragas.metrics.collections``, stated in
docs/reference/metrics.md with the oddities of each.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from trialbed.tool_calls import ArgumentFinding, CallFinding, Diagnosis, ToolCall, quantity

RULE = "str() of both"
NAME = attrgetter("name")
PLAIN = frozenset({str, int, float, bool, type(None)})
NO_ARGUMENTS: frozenset[Any] = frozenset()


def strict_accuracy(made: Sequence[ToolCall], right: Sequence[ToolCall]) -> float:
    """Return the mean share of right arguments, by position; 0 unless the names are the same in the same order."""
    count = len(right)
    if len(made) != count:
        return 0.0
    if not count:
        return 1.0
    total = 0.0
    for call, wanted in zip(made, right):  # noqa: B905 - checked above, and a tenth of the time
        if call.name != wanted.name:
            return 0.0
        total += right_arguments(call.args, wanted.args)
    return total / count


def flexible_accuracy(made: Sequence[ToolCall], right: Sequence[ToolCall]) -> float:
    """As ``strict_accuracy``, after both lists were sorted, each by itself, by names and the text of arguments."""
    if _pairs(made) == _pairs(right) and strict_accuracy(made, right) == 1:
        return 1.0
    names = [call.name for call in made]
    # Arguments matter to the order of calls of one name only.
    key = NAME if len(set(names)) == len(names) else sort_key
    return strict_accuracy(sorted(made, key=key), sorted(right, key=key))


def f1(made: Sequence[ToolCall], right: Sequence[ToolCall]) -> float:
    """Return F1 over the distinct calls, rounded to four digits; 0 where both are empty."""
    if made and _pairs(made) == _pairs(right):
        return 1.0
    both, only_made, only_right = counts(made, right)
    precision = both / (both + only_made) if both + only_made else 0.0
    recall = both / (both + only_right) if both + only_right else 0.0
    return round(2 * precision * recall / (precision + recall), 4) if precision + recall else 0.0


def counts(made: Sequence[ToolCall], right: Sequence[ToolCall]) -> tuple[int, int, int]:
    """Count the distinct calls that are in both, only made, and only right."""
    ours, theirs = set(map(distinct, made)), set(map(distinct, right))
    both = len(ours & theirs)
    return both, len(ours) - both, len(theirs) - both


def right_arguments(made: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> float:
    """Return the share of the reference's arguments whose text, as Python's ``str`` gives it, is the same."""
    if not right:
        return 0.0 if made else 1.0
    if not made:
        return 0.0
    same = 0
    for name, wanted in right.items():
        if name in made:
            given = made[name]
            if given is wanted or str(given) == str(wanted):
                same += 1
    return same / len(right)


def sort_key(call: ToolCall) -> tuple[str, list[tuple[str, str]]]:
    """Return the key of flexible order: the name, then the arguments by name, all as text."""
    return call.name, sorted([(name, str(value)) for name, value in (call.args or {}).items()])


def distinct(call: ToolCall) -> Hashable:
    """Return a value that is the same for calls that Ragas takes for one."""
    args = call.args
    if not args:
        return call.name, NO_ARGUMENTS
    # The check for plain values here, too, takes a third off the time.
    items = [(name, value if type(value) in PLAIN else _canonical(value)) for name, value in args.items()]
    return call.name, frozenset(items)


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        return frozenset((key, _canonical(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(_canonical, value))
    if isinstance(value, (set, frozenset)):
        return frozenset(map(_canonical, value))
    return value


def _pairs(calls: Sequence[ToolCall]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(call.name, call.args or {}) for call in calls]


def accuracy_diagnosis(value: float, made: Sequence[ToolCall], right: Sequence[ToolCall], order: str) -> Diagnosis:
    """Explain the value of ``strict_accuracy`` or ``flexible_accuracy``."""
    places = list(range(len(made))), list(range(len(right)))
    if order == "flexible":
        places = (
            sorted(places[0], key=lambda place: sort_key(made[place])),
            sorted(places[1], key=lambda place: sort_key(right[place])),
        )
    pairs = list(zip(*places, strict=False))
    rows = [_row(made[one], right[other], one, other) for one, other in pairs]
    rows += [
        CallFinding("extra", made[place].name, place, None, 0.0, args=made[place].args)
        for place in places[0][len(pairs) :]
    ]
    rows += [
        CallFinding("missing", right[place].name, None, place, 0.0, args=right[place].args)
        for place in places[1][len(pairs) :]
    ]
    return Diagnosis(
        "tool_call_accuracy",
        value,
        _formula(rows, made, right),
        tuple(rows),
        order,
        "ragas",
        notes=_notes(made, right, rows),
    )


def f1_diagnosis(value: float, made: Sequence[ToolCall], right: Sequence[ToolCall]) -> Diagnosis:
    """Explain the value of ``f1``."""
    both, only_made, only_right = counts(made, right)
    left = [(place, distinct(call)) for place, call in enumerate(right)]
    met: set[Any] = set()
    rows = []
    for place, call in enumerate(made):
        key = distinct(call)
        match = next((number for number, other in left if other == key), None)
        if match is not None and key not in met:
            rows.append(CallFinding("matched", call.name, place, match, 1.0, args=call.args))
        else:
            again = key in met
            note = "counts once, as calls are taken as a set" if again else ""
            rows.append(
                CallFinding("duplicate" if again else "extra", call.name, place, None, 0.0, (), note, call.args)
            )
        met.add(key)
    rows += [
        CallFinding("missing", right[place].name, None, place, 0.0, args=right[place].args)
        for place, key in left
        if key not in met
    ]
    formula = f"2pr/(p+r) of {both} distinct calls in both, {only_made} only made, {only_right} only right"
    return Diagnosis("tool_call_f1", value, formula, tuple(rows), "", "ragas")


def _row(made: ToolCall, right: ToolCall, one: int, other: int) -> CallFinding:
    if made.name != right.name:
        return CallFinding("wrong name", right.name, one, other, 0.0, (), f"{made.name} was called", made.args)
    points = right_arguments(made.args, right.args)
    status = "matched" if points == 1 else "partly matched" if points else "wrong arguments"
    arguments = tuple(_arguments(made.args or {}, right.args or {}))
    return CallFinding(status, right.name, one, other, points, arguments, args=made.args)  # type: ignore[arg-type]


def _arguments(made: Mapping[str, Any], right: Mapping[str, Any]) -> list[ArgumentFinding]:
    found = []
    for name, wanted in right.items():
        if name not in made:
            found.append(ArgumentFinding(name, "missing", None, wanted, RULE, 0.0))
        else:
            same = str(made[name]) == str(wanted)
            found.append(ArgumentFinding(name, "matched" if same else "differs", made[name], wanted, RULE, float(same)))
    return found


def _formula(rows: Sequence[CallFinding], made: Sequence[Any], right: Sequence[Any]) -> str:
    if not made and not right:
        return "no calls were made, and none were expected"
    if _has_faults(rows):
        return "0, as the names of all calls are not the same in the same order"
    return f"{quantity(sum(row.points for row in rows), 'point')} / {quantity(len(right), 'call')}"


def _notes(made: Sequence[Any], right: Sequence[Any], rows: Sequence[CallFinding]) -> tuple[str, ...]:
    if len(made) != len(right):
        return ("calls are missing or extra, which makes everything 0",)
    return ("one wrong name makes everything 0",) if _has_faults(rows) else ()


def _has_faults(rows: Sequence[CallFinding]) -> bool:
    return any(row.status in ("wrong name", "extra", "missing") for row in rows)
