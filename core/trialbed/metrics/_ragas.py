"""Tool-call accuracy and F1 as Ragas 0.4.3 computes them, to the last bit.

The rules are those of ``ToolCallAccuracy`` and ``ToolCallF1`` of ``ragas.metrics.collections``, stated in
docs/reference/metrics.md with what is odd about each. Calls are anything with ``name`` and ``args``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

NO_ARGUMENTS: Mapping[str, Any] = {}


class Call(Protocol):
    """A call of a tool, ours or Ragas's."""

    @property
    def name(self) -> str:
        """The tool's name."""
        ...

    @property
    def args(self) -> Mapping[str, Any] | None:
        """The arguments by name."""
        ...


def strict_accuracy(made: Sequence[Call], right: Sequence[Call]) -> float:
    """The mean share of right arguments, by position; 0 unless the names are the same in the same order."""
    count = len(right)
    if len(made) != count:
        return 0.0
    if not count:
        return 1.0
    total = 0.0
    for call, wanted in zip(made, right, strict=True):
        if call.name != wanted.name:
            return 0.0
        total += right_arguments(call.args, wanted.args)
    return total / count


def flexible_accuracy(made: Sequence[Call], right: Sequence[Call]) -> float:
    """As ``strict_accuracy``, after both lists were sorted, each by itself, by names and the text of arguments."""
    if len(made) != len(right):
        return 0.0
    names = {call.name for call in made}
    if names != {call.name for call in right}:
        return 0.0
    if len(names) == len(made):
        # Arguments matter to the order of calls of one name only.
        by_name = {call.name: call for call in made}
        ordered = sorted(right, key=_name)
        return strict_accuracy([by_name[call.name] for call in ordered], ordered)
    return strict_accuracy(sorted(made, key=sort_key), sorted(right, key=sort_key))


def f1(made: Sequence[Call], right: Sequence[Call]) -> float:
    """F1 over the distinct calls, rounded to four digits; 0 where both are empty."""
    tp, fp, fn = counts(made, right)
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / (tp + fn) if tp + fn else 0.0
    return round(2 * precision * recall / (precision + recall), 4) if precision + recall else 0.0


def counts(made: Sequence[Call], right: Sequence[Call]) -> tuple[int, int, int]:
    """How many distinct calls are in both, only made, and only right."""
    try:
        ours = {(call.name, frozenset((call.args or NO_ARGUMENTS).items())) for call in made}
        theirs = {(call.name, frozenset((call.args or NO_ARGUMENTS).items())) for call in right}
    except TypeError:  # Lists and objects among the arguments.
        ours = {(call.name, canonical(call.args or NO_ARGUMENTS)) for call in made}
        theirs = {(call.name, canonical(call.args or NO_ARGUMENTS)) for call in right}
    both = len(ours & theirs)
    return both, len(ours) - both, len(theirs) - both


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
            form = type(given)
            if form is type(wanted) and (form is str or form is int):
                same += given == wanted
            else:
                same += str(given) == str(wanted)
    return same / len(right)


def sort_key(call: Call) -> list[str]:
    """What flexible order sorts by: the name, then the arguments by name, all as text."""
    key = [call.name]
    for name, value in sorted((call.args or NO_ARGUMENTS).items(), key=_first):
        key += (name, str(value))
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


def _name(call: Call) -> str:
    return call.name


def _first(item: tuple[str, Any]) -> str:
    return item[0]
