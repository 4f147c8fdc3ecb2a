"""Tool-call accuracy and F1 as Ragas 0.4.3 computes them, to the last bit.

The rules are those of ``ToolCallAccuracy`` and ``ToolCallF1`` of ``ragas.metrics.collections``, stated in
docs/reference/metrics.md with the oddities of each. Calls are anything with ``name`` and ``args``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any, Protocol

NAME = attrgetter("name")
NO_ARGUMENTS: Mapping[str, Any] = {}
PLAIN = frozenset({str, int, float, bool, type(None)})
FEW = 64
"""Calls up to which comparing them one by one is faster than hashing them."""


Pair = tuple[str, Mapping[str, Any]]
"""A call's name and arguments."""


class RagasCall(Protocol):
    """A call of a tool, ours or Ragas's."""

    @property
    def name(self) -> str:
        """The tool's name."""
        ...

    @property
    def args(self) -> Mapping[str, Any] | None:
        """The arguments by name."""
        ...


def strict_accuracy(made: Sequence[RagasCall], right: Sequence[RagasCall]) -> float:
    """The mean share of right arguments, by position; 0 unless the names are the same in the same order."""
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


def flexible_accuracy(made: Sequence[RagasCall], right: Sequence[RagasCall]) -> float:
    """As ``strict_accuracy``, after both lists were sorted, each by itself, by names and the text of arguments."""
    count = len(right)
    if len(made) != count:
        return 0.0
    if _are_the_same(made, right):
        return 1.0
    made, right = sorted(made, key=NAME), sorted(right, key=NAME)
    names = [call.name for call in made]
    if names != [call.name for call in right]:
        return 0.0
    total = 0.0
    place = 0
    while place < count:
        name, end = names[place], place + 1
        while end < count and names[end] == name:
            end += 1
        if end == place + 1:
            total += right_arguments(made[place].args, right[place].args)
        else:
            # Arguments matter to the order of calls of one name only. Their texts, once made, are compared too.
            given = sorted([arguments_key(call) for call in made[place:end]])
            wanted = sorted([arguments_key(call) for call in right[place:end]])
            for ours, theirs in zip(given, wanted, strict=True):
                total += 1.0 if ours == theirs else len({*ours} & {*theirs}) / len(theirs) if theirs else 0.0
        place = end
    return total / count


def _are_the_same(made: Sequence[RagasCall], right: Sequence[RagasCall]) -> bool:
    """Return whether the calls have the same names and arguments in the same order, so that no sorting matters."""
    for call, wanted in zip(made, right, strict=True):
        if call.name != wanted.name or len(call.args or NO_ARGUMENTS) != len(wanted.args or NO_ARGUMENTS):
            return False
        if right_arguments(call.args, wanted.args) != 1.0:
            return False
    return True


def f1(made: Sequence[RagasCall], right: Sequence[RagasCall]) -> float:
    """F1 over the distinct calls, rounded to four digits; 0 where both are empty."""
    if len(made) == len(right) and _pairs(made) == _pairs(right):
        return 1.0 if made else 0.0
    tp, fp, fn = counts(made, right)
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / (tp + fn) if tp + fn else 0.0
    return round(2 * precision * recall / (precision + recall), 4) if precision + recall else 0.0


def counts(made: Sequence[RagasCall], right: Sequence[RagasCall]) -> tuple[int, int, int]:
    """Count the distinct calls that are in both, only made, and only right."""
    if len(made) + len(right) <= FEW:
        ours, theirs = _distinct(_pairs(made)), _distinct(_pairs(right))
        only_made = [pair for pair in ours if pair not in theirs]
        only_right = [pair for pair in theirs if pair not in ours]
        names = {name for name, _ in only_made + only_right}
        if _is_json(ours, names) and _is_json(theirs, names):
            return len(ours) - len(only_made), len(only_made), len(only_right)
    return _hashed_counts(made, right)


def _pairs(calls: Sequence[RagasCall]) -> list[Pair]:
    return [(call.name, call.args or NO_ARGUMENTS) for call in calls]


def _distinct(pairs: Sequence[Pair]) -> list[Pair]:
    """The distinct ones. Equal values of JSON are equal to Ragas too."""
    found: list[Pair] = []
    for pair in pairs:
        if pair not in found:
            found.append(pair)
    return found


def _hashed_counts(made: Sequence[RagasCall], right: Sequence[RagasCall]) -> tuple[int, int, int]:
    try:
        ours = {(call.name, frozenset((call.args or NO_ARGUMENTS).items())) for call in made}
        theirs = {(call.name, frozenset((call.args or NO_ARGUMENTS).items())) for call in right}
    except TypeError:  # Lists and objects among the arguments.
        ours = {(call.name, canonical(call.args or NO_ARGUMENTS)) for call in made}
        theirs = {(call.name, canonical(call.args or NO_ARGUMENTS)) for call in right}
    both = len(ours & theirs)
    return both, len(ours) - both, len(theirs) - both


def _is_json(pairs: Sequence[Pair], names: Collection[str]) -> bool:
    """Return whether all values of these calls are of JSON. Ragas takes tuples for lists, empty sets for objects."""
    for name, args in pairs:
        if name not in names:
            continue
        for value in args.values():
            if type(value) not in PLAIN and not _is_json_value(value):
                return False
    return True


def _is_json_value(value: Any) -> bool:
    form = type(value)
    if form is list:
        return all(map(_is_json_value, value))
    if form is dict:
        return all(map(_is_json_value, value.values()))
    return form in PLAIN


def right_arguments(made: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> float:
    """The share of the reference's arguments whose text, as Python's ``str`` gives it, is the same."""
    if not right:
        return 0.0 if made else 1.0
    if not made:
        return 0.0
    same = 0
    for key, wanted in right.items():
        if key in made:
            given = made[key]
            if given is wanted:
                same += 1
            elif (form := type(given)) is type(wanted) and (form is str or form is int or (form is float and given)):
                # Numbers but 0.0 have the same text where they are equal; nan has too, and is not.
                if given == wanted or (given != given and wanted != wanted):
                    same += 1
            elif str(given) == str(wanted):
                same += 1
    return same / len(right)


def sort_key(call: RagasCall) -> tuple[str, list[tuple[str, str]]]:
    """The key of flexible order: the name, then the arguments by name, all as text."""
    return call.name, arguments_key(call)


def arguments_key(call: RagasCall) -> list[tuple[str, str]]:
    """The key by which flexible order sorts calls of one name."""
    args = call.args
    if not args:
        return []
    key = [(name, value if type(value) is str else str(value)) for name, value in args.items()]
    if len(key) > 1:
        key.sort()
    return key


def canonical(value: Any) -> Any:
    """A value that is hashable, and equal where Ragas takes values for equal."""
    if isinstance(value, Mapping):
        return frozenset((key, canonical(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(canonical(item) for item in value)
    if isinstance(value, (set, frozenset)):
        return frozenset(canonical(item) for item in value)
    return value
