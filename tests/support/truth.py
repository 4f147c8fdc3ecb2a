"""The truth table of scripted models: for each policy, framework, profile and query the one right outcome.

``right`` is what is right through a framework that changes nothing. ``DECLARED`` has the cells in which a framework
that is used as its documentation teaches does otherwise, each with its cause.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from support.frameworks import FRAMEWORKS, ROOT

from trialbed.records import Query

MAX_STEPS = 7

POLICIES = (
    "gold",
    "parallel",
    "none",
    "partial",
    "reordered",
    "extra",
    "wrong-args",
    "bad-json",
    "unknown-tool",
    "retry",
    "loop",
    "slow",
    "giveup",
)

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


@dataclass(frozen=True)
class Outcome:
    """One trial, as far as it is known beforehand.

    Attributes:
        error: the kind of its failure; empty if it ended with an answer.
        turns: requests that the model answered. ``refused``: requests past the limit.
        calls: calls that the virtual API saw. ``sent``: calls that the model sent and that can be made; None for as
            many.
        invalid: calls that the model sent and that cannot be made.
        lost: calls that the model could not make with what was offered.
        agreement: ``claimed_vs_observed``.
    """

    turns: int
    calls: int
    api_call_score: float | None = 1.0
    api_precision: float | None = 1.0
    status: str = "Solved"
    finish: bool = True
    invalid: int = 0
    error: str = ""
    refused: int = 0
    lost: int = 0
    agreement: float | None = 1.0
    sent: int | None = None


@dataclass(frozen=True)
class Shape:
    """What outcomes depend on.

    Attributes:
        query: whose gold calls count.
    """

    query: Query

    @property
    def calls(self) -> int:
        """How many gold calls it has."""
        return len(self.query.gold_calls)

    @property
    def apis(self) -> int:
        """Of how many Apis they are."""
        return len({call.api.pair for call in self.query.gold_calls})

    def share(self, calls: int) -> float:
        """The share of gold Apis among the first so many gold calls."""
        return len({call.api.pair for call in self.query.gold_calls[:calls]}) / self.apis


def right(policy: str, shape: Shape) -> Outcome:
    """What is right where a framework changes nothing."""
    n, apis = shape.calls, shape.apis
    match policy:
        case "gold" | "slow" | "reordered":
            return Outcome(n + 1, n)
        case "parallel":
            return Outcome(2, n)
        case "none":
            return Outcome(1, 0, 0, 0, "Unsolved")
        case "partial":
            return Outcome(n, n - 1, shape.share(n - 1), float(n > 1), "Unsure" if n > 1 else "Unsolved")
        case "extra":
            return Outcome(n + 2, n + 1, api_precision=apis / (apis + 1))
        case "wrong-args":
            return Outcome(n + 1, n, status="Unsolved")
        case "bad-json" | "unknown-tool":
            return Outcome(n + 2, n, invalid=1)
        case "retry":
            return Outcome(n + 2, n + 1)
        case "loop":
            return Outcome(MAX_STEPS, MAX_STEPS, shape.share(1), 1, "Unsolved", finish=False)
        case "giveup":
            return Outcome(2, 1, shape.share(1), 1, "Unsolved")
    raise AssertionError(policy)


FAILED: Mapping[str, Any] = MappingProxyType(
    {"api_call_score": 0.0, "api_precision": 0.0, "status": "Error", "finish": False, "agreement": None}
)
"""The scores of a trial that failed."""

STOPPED: Mapping[str, Any] = MappingProxyType({**FAILED, "error": "limit", "refused": 1})
"""The end of a trial that the gateway stopped."""


@dataclass(frozen=True)
class Declared:
    """A cell that is otherwise, and why.

    Attributes:
        values: field of the outcome -> its value, or what it is for a shape.
    """

    cause: str
    values: Mapping[str, Any | Callable[[Shape], Any]] = field(default_factory=dict)


NOT_CALLED: Mapping[str, Any] = MappingProxyType(
    {"calls": 0, "api_call_score": 0.0, "api_precision": 0.0, "status": "Unsolved"}
)
"""The scores of a trial that called no Api."""

NATIVE: Mapping[str, Declared] = {
    "loop": Declared(
        "a native program does not know the trial's limit: the gateway refuses the request after the last one", STOPPED
    ),
}
"""Policy -> what is so for every native program, unless its framework has a cell of its own."""

MADE_UP = (
    "strict schemas require the optional arguments, so the model makes them up, and some filters then find nothing: "
    "direct trains, kinds of landmarks, hotels with pets, banks"
)
UNSURE = MappingProxyType(dict.fromkeys((3, 7, 11, 14), "Unsure"))
"""Query -> its status where the results of one call are missing."""

LANGCHAIN: Mapping[str, Declared] = {
    "bad-json": Declared(
        "arguments that are not JSON are no call for LangChain: the run ends with the message's empty text",
        {**NOT_CALLED, "turns": 1, "finish": False},
    ),
}

CREWAI: Mapping[str, Declared] = {
    "wrong-args": Declared(
        "CrewAI checks arguments itself, and calls no Api with wrong ones",
        {**NOT_CALLED, "sent": lambda shape: shape.calls},
    ),
    "retry": Declared(
        "CrewAI checks arguments itself, and calls no Api with wrong ones",
        {"calls": lambda shape: shape.calls, "sent": lambda shape: shape.calls + 1},
    ),
    "loop": Declared(
        "the fifth equal call with an equal result ends the run with ToolExecutionFailedError",
        {**FAILED, "error": "agent", "turns": 5, "calls": 5},
    ),
}

OPENAI_AGENTS: Mapping[str, Declared] = {
    "unknown-tool": Declared(
        "a call of an unknown tool ends the run with ModelBehaviorError",
        {**FAILED, "error": "agent", "turns": 1, "calls": 0},
    ),
    "partial": Declared(MADE_UP, {"status": lambda shape: _partial_status(shape)}),
    **dict.fromkeys(
        ("gold", "slow", "parallel", "reordered", "extra", "bad-json", "retry"),
        Declared(MADE_UP, {"status": lambda shape: UNSURE.get(shape.query.query_id, "Solved")}),
    ),
}

DECLARED: Mapping[str, Mapping[str, Declared]] = {
    "smolagents:native": {
        "wrong-args": Declared(
            "smolagents checks arguments itself, and calls no Api with wrong ones",
            {**NOT_CALLED, "sent": lambda shape: shape.calls},
        ),
        "retry": Declared(
            "smolagents checks arguments itself, and calls no Api with wrong ones",
            {"calls": lambda shape: shape.calls, "sent": lambda shape: shape.calls + 1},
        ),
    },
    "google-adk:native": {
        "bad-json": Declared(
            "ADK calls the Api without arguments where they are not JSON",
            {"calls": lambda shape: shape.calls + 1, "sent": lambda shape: shape.calls},
        ),
    },
    "agent-framework:native": {
        "wrong-args": Declared(
            "the Agent Framework calls no Api with wrong arguments; after three turns of them the model may call none",
            {
                **NOT_CALLED,
                "turns": lambda shape: min(shape.calls, 3) + 1,
                "sent": lambda shape: min(shape.calls, 3),
                "lost": lambda shape: max(shape.calls - 3, 0),
            },
        ),
        "retry": Declared(
            "the Agent Framework checks arguments itself, and calls no Api with wrong ones",
            {"calls": lambda shape: shape.calls, "sent": lambda shape: shape.calls + 1},
        ),
    },
    "langgraph:messages": {
        "bad-json": Declared(
            "an input that is no object ends the run with LangChain's ValidationError",
            {**FAILED, "error": "agent", "turns": 1, "calls": 0},
        ),
    },
    "langgraph:native": LANGCHAIN,
    "langgraph:responses": LANGCHAIN,
    "crewai:native": CREWAI,
    "crewai:messages": {
        **CREWAI,
        "bad-json": Declared(
            "an input that is no object is no call for CrewAI, and an answer without text and calls ends the run",
            {**FAILED, "error": "agent", "turns": 1, "calls": 0},
        ),
    },
    "crewai:responses": CREWAI,
    "openai-agents:native": OPENAI_AGENTS,
    "openai-agents:chat-completions": OPENAI_AGENTS,
}
"""Label -> policy -> how its cell differs from ``right``."""


def _partial_status(shape: Shape) -> str:
    """Where a query's only call but the last finds nothing, there is no evidence at all."""
    return "Unsolved" if shape.query.query_id in (3, 7) else right("partial", shape).status


def expected(label: str, policy: str, query: Query) -> Outcome:
    """The outcome of a trial."""
    shape = Shape(query)
    general = NATIVE if is_program(label) else {}
    declared = DECLARED.get(label, {}).get(policy) or general.get(policy)
    if declared is None:
        return right(policy, shape)
    values = {name: value(shape) if callable(value) else value for name, value in declared.values.items()}
    return replace(right(policy, shape), **values)


def known_scores(label: str, policy: str, query: Query) -> dict[str, float | None]:
    """The scores by arguments and results that are known beforehand.

    None in a cell that is declared otherwise, and none of a framework that has the model make arguments up.
    """
    general = NATIVE if is_program(label) else {}
    declared = DECLARED.get(label, {})
    if policy in {*declared, *general} or any(cell.cause == MADE_UP for cell in declared.values()):
        return {}
    n = Shape(query).calls
    every: dict[str, float | None] = {"unasked_calls": 0, "redundant_calls": 0}
    match policy:
        case "gold" | "slow" | "parallel":
            return every | _agreement(n, n, n) | {"call_success": 1, "recovered": None, "used_results": 1}
        case "reordered":
            # In the order of the gold calls, one call of the reversed ones is right.
            return every | _agreement(n, n, n, ordered=1) | {"call_success": 1, "recovered": None, "used_results": 1}
        case "none":
            return every | _agreement(n, 0, 0) | {"call_success": 0, "recovered": None, "used_results": None}
        case "partial":
            some = 1 if n > 1 else None
            return every | _agreement(n, n - 1, n - 1) | {"call_success": some or 0, "used_results": some}
        case "extra":
            return every | _agreement(n, n + 1, n) | {"used_results": 1}
        case "wrong-args":
            return every | {"call_success": 0, "recovered": 0, "used_results": None}
        case "bad-json" | "unknown-tool" | "retry":
            mended = {"call_success": n / (n + 1), "recovered": 1, "used_results": 1}
            return every | _agreement(n, n + 1, n) | mended
        case "loop":
            return {"call_success": 1, "redundant_calls": MAX_STEPS - 1, "unasked_calls": 0, "used_results": 0}
        case "giveup":
            return every | _agreement(n, 1, 1) | {"call_success": 1, "recovered": None, "used_results": 0}
    raise AssertionError(policy)


def _agreement(gold: int, made: int, right: int, ordered: int | None = None) -> dict[str, float | None]:
    """The scores against gold calls, where so many of those made are right, and so many in their order too."""
    return {
        "argument_accuracy": right / gold,
        "tool_call_f1": 2 * right / (made + gold),
        "tool_call_accuracy": (right if ordered is None else ordered) / max(made, gold),
    }
