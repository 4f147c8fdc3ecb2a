"""The gates of the panel: the subject that each compares, and how large a difference does not matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from struct import Struct
from typing import Any, Literal

from trialbed.errors import UsageError
from trialbed_verify.panel._measures import BITS, Measures
from trialbed_verify.panel._texts import NOTHING

Scale = Literal["category", "novelty", "signature", "number", "probabilities", "fault"]
"""The distance of two values: 1 if they differ; the share of unequal places; the difference, at most 1; the divergence.

``novelty``: a category whose excess is the share of the vendor's answers that the baseline never gives, less the share
of the baseline's own that its other trials never give.
``fault``: 1 for an answer with a fault; the gate compares their shares, and only more of them than the baseline has
counts.
"""

LOG_RANGE = 1.386
"""Difference of logarithms that counts as 1: a factor of four."""

BREAKING = BITS["schema"] | BITS["text"] | BITS["constraints"] | BITS["protocol"]
"""Violations that break a caller."""

LABELS = {"any": "breaking"}
"""Gate -> the name that people read, where it is another."""

BILLED = "at four prompt tokens for a completion token"
"""The price of tokens in the bill (``OUTPUT_PRICE``)."""

DISTANCE_SHARE = 0.5
"""The margin of a gate's distance, as a share of that of its excess."""


@dataclass(frozen=True)
class PanelGate:
    """One subject on which a vendor is compared with the baseline.

    Attributes:
        margin: the largest excess that does not matter.
        value: an answer's value; None where the gate does not apply to it.
        meaning: the subject, for readers.
        trait, having: what one trial per case can show to differ, and what cases do that have it; empty if nothing.
        stands_alone: it is judged over the cases that it applies to, however few of all these are.
    """

    name: str
    scale: Scale
    margin: float
    value: Callable[[Measures], Any]
    meaning: str
    trait: str = ""
    having: str = ""
    stands_alone: bool = False

    @property
    def label(self) -> str:
        """Return the name that people read; documents and options have the other."""
        return LABELS.get(self.name, self.name)

    @property
    def distance_margin(self) -> float | None:
        """Return the largest distance that does not matter; None where only more counts, as there is no distance."""
        return None if self.is_directed else self.margin * DISTANCE_SHARE

    @property
    def is_directed(self) -> bool:
        """Return whether only more than the baseline has counts: faults, and answers that it never gives."""
        return self.scale in ("fault", "novelty")


def _category(name: str) -> Callable[[Measures], Any]:
    return lambda found: getattr(found, name) or None


def _number(name: str, scale: float = 1.0) -> Callable[[Measures], Any]:
    return lambda found: None if (value := getattr(found, name)) != value else value / scale


def _violation(subject: str) -> Callable[[Measures], Any]:
    bit = BITS[subject]
    return lambda found: bool(found.violations & bit) if found.answered else None


def _breaking(found: Measures) -> int:
    """Return the category of all that a caller relies on: calls by name and value, the finish, form and faults."""
    if not found.answered:
        return 0
    faults = found.violations & BREAKING
    seen = (found.decision, found.made, found.finish, found.form, int(found.cut), int(found.schema or 0), faults)
    return hash(seen) or 1


DECISIONS = "decisions", "cases call"
TOOLS = "called tools", "cases call one of the tools"
ARGUMENTS = "arguments", "cases have one of the values"

GATES: tuple[PanelGate, ...] = (
    PanelGate("any", "novelty", 0.02, _breaking, "answers that break a caller"),
    PanelGate("decision", "category", 0.02, _category("decision"), "whether tools are called", *DECISIONS),
    PanelGate("tools", "category", 0.03, _category("tools"), "which tools are called", *TOOLS),
    PanelGate("arguments", "signature", 0.03, attrgetter("arguments"), "the arguments of calls", *ARGUMENTS),
    PanelGate("calls", "category", 0.03, _category("order"), "the number and order of calls"),
    PanelGate("finish", "category", 0.02, _category("finish"), "finish reasons"),
    PanelGate("schema", "fault", 0.02, attrgetter("schema"), "calls that break their schemas"),
    PanelGate("text-form", "category", 0.03, _category("form"), "form and language of texts"),
    PanelGate("text-opening", "category", 0.05, _category("opening"), "the first words of texts"),
    PanelGate("text-length", "number", 0.05, _number("length", LOG_RANGE), "the length of texts"),
    PanelGate("text-words", "signature", 0.05, attrgetter("wording"), "the words of texts"),
    PanelGate("text-leaks", "fault", 0.02, _violation("text"), "leaked tokens and broken encoding"),
    PanelGate("constraints", "fault", 0.02, _violation("constraints"), "constraints not obeyed"),
    PanelGate("availability", "fault", 0.02, lambda found: not found.answered, "requests without valid answers"),
    PanelGate("protocol", "fault", 0.02, _violation("protocol"), "answers that break the protocol"),
    PanelGate("usage", "fault", 0.02, _violation("usage"), "implausible token counts"),
    PanelGate("tokens", "number", 0.05, _number("ratio", LOG_RANGE), "tokens for the same text"),
    PanelGate("prompt-tokens", "category", 0.02, _category("prompt"), "prompt tokens of a request"),
    PanelGate("bill", "fault", 0.02, _number("cost"), f"the bill {BILLED}"),
    PanelGate("model", "fault", 0.02, _violation("model"), "answers that name another model"),
    PanelGate("logprobs", "probabilities", 0.02, attrgetter("logprobs"), "the first token's probabilities"),
)
"""All gates but those of suites, in the order of reports."""

UNLIKE = frozenset({"bill"})
"""Gates that have no part in the test of all together: a constant moves them in every case."""

FIRST_PLACES = Struct("<4H")
"""Places of a signature that count in the comparison of everything."""


def everything(found: Measures) -> list[int]:
    """Return all categories of an answer, and places of its signatures; absent ones are 0."""
    places = [found.decision, found.tools, found.order, found.finish, found.form, int(found.answered)]
    for signature in (found.arguments, found.wording):
        places += FIRST_PLACES.unpack_from(signature or NOTHING)
    return [*places, int(found.schema or 0), found.violations, found.prompt, int(found.cut), found.opening]


WHOLE = PanelGate("whole", "signature", 0.02, everything, "everything together")
"""All subjects at once, for the permutation test of the whole; it has no part in the verdict."""

PARAMETER, SUITE = "constraints:", "suite:"

SUITE_MARGIN = 0.03


def further_gates(trials: Sequence[Measures]) -> list[PanelGate]:
    """Return a gate per suite, for its cases that went wrong, and one per parameter that constrains answers."""
    found = []
    for name in sorted({trial.suite[0] for trial in trials if trial.suite is not None}):
        meaning = f"cases of the suite {name} that went wrong"
        found.append(PanelGate(f"{SUITE}{name}", "fault", SUITE_MARGIN, partial(_suite_loss, name), meaning))
    for name in sorted(set[str]().union(*(trial.asked for trial in trials))):
        meaning, value = f"answers that do not obey {name}", partial(_is_disobeyed, name)
        found.append(PanelGate(f"{PARAMETER}{name}", "fault", 0.02, value, meaning, stands_alone=True))
    return found


def _suite_loss(name: str, found: Measures) -> float | None:
    return 1.0 - found.suite[1] if found.suite and found.suite[0] == name else None


def _is_disobeyed(name: str, found: Measures) -> bool | None:
    return name in found.disobeyed if found.answered and name in found.asked else None


def with_margins(gates: Sequence[PanelGate], margins: Mapping[str, float]) -> list[PanelGate]:
    """Return the gates with other margins.

    Raises:
        UsageError: a gate is unknown or is given by both its names, or a margin is not between 0 and 1.
    """
    for name, label in LABELS.items():
        if name in margins and label in margins:
            raise UsageError(f"--gate-margin: {label} and {name} are one gate; give its margin once")
    names = {label: name for name, label in LABELS.items()}
    margins = {names.get(name, name): margin for name, margin in margins.items()}
    known = {gate.name for gate in gates}
    for name, margin in margins.items():
        if name not in known and not name.startswith((SUITE, PARAMETER)):
            raise UsageError(f"--gate-margin: unknown gate {name!r}; choose from {', '.join(sorted(known))}")
        if not 0 < margin < 1:
            raise UsageError(f"--gate-margin: the margin of {name} is {margin:g}, but must lie between 0 and 1")
    return [replace(gate, margin=margins.get(gate.name, gate.margin)) for gate in gates]
