"""The truth table of scripted models: for each policy, framework, profile and query the one right outcome.

It is read from ``trialbed_scripted/cells.toml``, of which the documentation is made as well.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from importlib.resources import files
from typing import Any

from support.frameworks import FRAMEWORKS, ROOT

from trialbed.records import Api, Query

MATRIX: dict[str, Any] = tomllib.loads(files("trialbed_scripted").joinpath("cells.toml").read_text(encoding="utf-8"))
FIELDS: dict[str, str] = MATRIX["fields"]
POLICIES = tuple(MATRIX["right"])
WORDS = frozenset({"profiles", "policies", "when", "end", "happens", "cause"})
"""The keys of a cell that are no fields of an outcome."""
PROGRAM = "program"
"""Stands for every native program."""
ANY = object()
"""Whatever it is, it is right."""
CONVERSATIONS: dict[str, Any] = MATRIX["conversations"]

REFERENCE = "reference"


def labels() -> tuple[str, ...]:
    """The reference in each dialect, and every profile of every framework, as their adapters declare them."""
    found = [REFERENCE, f"{REFERENCE}-messages", f"{REFERENCE}-responses"]
    for framework in FRAMEWORKS:
        if framework != REFERENCE:
            project = tomllib.loads((ROOT / "adapters" / framework / "pyproject.toml").read_text(encoding="utf-8"))
            found += project["project"]["entry-points"]["trialbed.frameworks"]
    return tuple(found)


def is_program(label: str) -> bool:
    """Whether a label is of a program as its framework's documentation teaches it, in whichever dialect."""
    return not (label.startswith(REFERENCE) or label.endswith(":controlled"))


@dataclass(eq=False)
class Below:
    """Equal to every number below a bound."""

    bound: float

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | float) and other < self.bound


@dataclass(frozen=True)
class Shape:
    """What outcomes depend on.

    Attributes:
        query: whose gold calls count.
        limit: of steps.
        apis: of the dataset.
    """

    query: Query
    limit: int
    apis: Sequence[Api]

    def share(self, calls: int) -> float:
        """The share of gold Apis among the first so many gold calls."""
        pairs = [call.api.pair for call in self.query.gold_calls]
        return len(set(pairs[:calls])) / len(set(pairs))

    @cached_property
    def shares(self) -> list[float]:
        """The share of right arguments of each gold call, where optional ones without a default are made up."""
        optional = {
            (api.tool_name, api.api_name): {one.name for one in api.optional_parameters if one.default is None}
            for api in self.apis
        }
        found = []
        for call in self.query.gold_calls:
            given = dict(call.arguments or {})
            made_up = optional[call.api.pair] - set(given)
            found.append(len(given) / (len(given) + len(made_up)) if made_up else 1.0)
        return found

    def value(self, expression: str) -> Any:
        """Return the value of an expression of the matrix."""
        if expression.startswith("<"):
            return Below(self.value(expression.removeprefix("<").strip()))
        pairs = {call.api.pair for call in self.query.gold_calls}
        names: dict[str, Any] = {
            "n": len(self.query.gold_calls),
            "p": len(pairs),
            "l": self.limit,
            "q": self.query.query_id,
            "s": self.share,
            "A": lambda calls: sum(self.shares[:calls]),
            "m": max(self.shares, default=0),
            "min": min,
            "max": max,
            **MATRIX["queries"],
            "none": None,
            "any": ANY,
            **{word: word for word in ("Solved", "Unsure", "Unsolved", "Error", "agent", "limit")},
        }
        return eval(expression, {"__builtins__": {}}, names)


def cell_of(label: str, policy: str, limit: int) -> Mapping[str, Any] | None:
    """The cell in which a framework does otherwise; None if there is none."""
    found = [
        cell
        for cell in MATRIX["cells"]
        if policy in cell["policies"]
        and (label in cell["profiles"] or (PROGRAM in cell["profiles"] and is_program(label)))
        and eval(cell.get("when", "True"), {"__builtins__": {}}, {"l": limit})
    ]
    return found[-1] if found else None


def expected(label: str, policy: str, shape: Shape) -> dict[str, Any]:
    """Every field of the outcome of a trial."""
    cell = cell_of(label, policy, shape.limit) or {}
    end = MATRIX["ends"][cell["end"]] if "end" in cell else {}
    own = {name: value for name, value in cell.items() if name not in WORDS}
    chosen = {**FIELDS, **MATRIX["right"][policy], **end, **own}
    assert chosen.keys() == FIELDS.keys(), (label, policy)
    calls = shape.value(chosen["calls"])
    return {name: calls if text == "calls" else shape.value(text) for name, text in chosen.items()}


def asked_in_conversations() -> dict[str, tuple[str, ...]]:
    """Return task -> the policies with which frameworks play it."""
    return {name: tuple(task["policies"]) for name, task in CONVERSATIONS["tasks"].items()}


def conversing() -> tuple[str, ...]:
    """Return the policies that play conversations."""
    return tuple(dict.fromkeys(policy for row in CONVERSATIONS["right"] for policy in row["policies"]))


def expected_conversation(label: str, task: str, policy: str) -> dict[str, Any]:
    """Return the right scores of a conversation, and the kind of the trial's failure."""
    (right,) = (row for row in CONVERSATIONS["right"] if row["task"] == task and policy in row["policies"])
    chosen = {"history_kept": 1, **right}
    for cell in CONVERSATIONS["cells"]:
        if label in cell["profiles"] and task in cell["tasks"] and policy in cell["policies"]:
            chosen |= cell
    failure = chosen.get("error")
    found = {} if failure else {name: chosen[name] for name in CONVERSATIONS["fields"] if name in chosen}
    return {name: float(Fraction(value)) for name, value in found.items()} | ({"error": failure} if failure else {})


def conversation_scores(result: dict[str, Any]) -> dict[str, Any]:
    """Return the same of a trial's result, without the scores that it does not have."""
    scores = {**result["scores"], "solved": result["scores"].get("sopr_score")}
    failure = result.get("error", {}).get("kind")
    if failure:
        return {"error": failure}
    return {name: scores[name] for name in CONVERSATIONS["fields"] if scores.get(name) is not None}
