"""The diagnosis of a score, with the pairs of calls, their differences, and the points of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal


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
        called = self.name if self.args is None else f"{self.name}{shown_whole(given)}"
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


def shown_whole(arguments: str) -> str:
    """Return the arguments of a call in brackets, cut if they are long."""
    return f"({arguments if len(arguments) <= 2 * SHOWN else arguments[: 2 * SHOWN] + '…'})"


def quantity(number: float, word: str) -> str:
    """Return a number of things: ``1 call``, ``2.5 points``."""
    return f"{number:.4g} {word}{'' if number == 1 else 's'}"


def shown(value: Any, longest: int = SHOWN) -> str:
    """Return a value as JSON, cut if it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= longest else f"{text[:longest]}…"
