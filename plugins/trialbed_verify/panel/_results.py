"""The findings of the panel as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from trialbed_verify.documents import as_document
from trialbed_verify.panel._bounds import ALPHA, FEWEST, Mean
from trialbed_verify.panel._gates import PanelGate
from trialbed_verify.rows import Body
from trialbed_verify.vendor_rows import VendorRows

Conclusion = Literal["equivalent", "different", "inconclusive"]
GateFinding = Literal["equivalent", "different", "inconclusive", "not judged", "too few cases", "not applicable"]


@dataclass(frozen=True)
class RowPlace:
    """The place of a row."""

    source: VendorRows
    place: Any

    def read(self) -> Body:
        """Return the row; empty if it is gone."""
        return self.source.row_at(self.place)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return self.source.describe(self.place)


@dataclass(frozen=True)
class GateExample:
    """An answer of each side to one request, in a line and by its place.

    Attributes:
        line: of the test set; None if the rows do not have it.
    """

    line: int | None
    baseline: str
    vendor: str
    baseline_row: RowPlace
    vendor_row: RowPlace


@dataclass(frozen=True)
class GateResult:
    """One gate's comparison.

    Attributes:
        excess: how much more the vendor differs from the baseline than the baseline from itself; None if the gate does
            not apply to any case.
        distance: between the two distributions; None where only more counts, or where a side has one trial per case.
        baseline, vendor: the mean distance of two trials of the baseline, and of one of each side; for faults, the
            shares of the baseline's and of the vendor's answers; over the cases of the excess, so that it is the second
            less the first.
        p, p_holm: of the permutation test, and corrected for all gates.
        needed: cases that would settle an inconclusive gate; None if no number would.
        example: an answer of each side.
        differing: cases in which the sides' only trials differ, and cases compared; None with several trials.
    """

    gate: PanelGate
    finding: GateFinding
    reason: str
    excess: Mean | None = None
    distance: Mean | None = None
    baseline: float | None = None
    vendor: float | None = None
    p: float = 1.0
    p_holm: float = 1.0
    needed: int | None = None
    example: GateExample | None = None
    differing: tuple[int, int] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return one JSON object."""
        return {
            "gate": self.gate.name,
            "meaning": self.gate.meaning,
            "finding": self.finding,
            "reason": self.reason,
            "baseline": self.baseline,
            "vendor": self.vendor,
            "excess": self.excess.as_json(directed=self.gate.is_directed) if self.excess else None,
            "excess_margin": self.gate.margin,
            "distance": self.distance.as_json() if self.distance else None,
            "distance_margin": self.gate.distance_margin,
            "p": self.p,
            "p_holm": self.p_holm,
            "needed_cases": self.needed,
            "example": as_document(self.example),
        }


@dataclass(frozen=True)
class Panel:
    """The verdict on a vendor.

    Attributes:
        reason: one sentence.
        gates: all of them, in the order of reports.
        whole: the p-value of the permutation test of all gates together.
        trials: the mean number of trials per case that count, of the baseline and of the vendor.
        remarks: sentences about the trials themselves, such as that some are copies.
        needed: cases that would settle an inconclusive verdict; None if none is needed, or if no number would.
        deals: of the trials' labels, where a p-value is smallest.
        copies: side -> counts of copied trials.
        price: of an answer of the vendor, as a share of the baseline's; None if prices or tokens are not known.
    """

    finding: Conclusion
    reason: str
    gates: tuple[GateResult, ...]
    whole: float | None
    cases: int
    trials: tuple[float, float]
    remarks: tuple[str, ...] = ()
    needed: int | None = None
    deals: int = 0
    seed: int = 0
    copies: Mapping[str, Any] = field(default_factory=dict)
    price: float | None = None

    @property
    def verdict(self) -> str:
        """Return the finding as people read it."""
        is_open = self.finding == "inconclusive" and self.cases >= FEWEST
        single = any(result.finding == "not judged" for result in self.gates)
        return "not decided by one trial" if is_open and single else self.finding

    def at(self, gate: str) -> GateResult | None:
        """Return the result at a gate; None if it does not apply to any case."""
        return next((result for result in self.applicable if result.gate.name == gate), None)

    @property
    def applicable(self) -> list[GateResult]:
        """Return the gates that apply to any case."""
        return [result for result in self.gates if result.finding != "not applicable"]

    @property
    def different(self) -> list[str]:
        """Return the names of the gates at which the vendor differs."""
        return [result.gate.name for result in self.gates if result.finding == "different"]

    @property
    def different_labels(self) -> str:
        """Return the same as people read them, in a line; empty where there is none."""
        return ", ".join(result.gate.label for result in self.gates if result.finding == "different")

    @property
    def different_subjects(self) -> str:
        """Return the subjects of these gates in words, in a line; empty where there is none."""
        return ", ".join(result.gate.meaning for result in self.gates if result.finding == "different")

    def as_json(self) -> dict[str, Any]:
        """Return one JSON object."""
        return {
            "finding": self.finding,
            "reason": self.reason,
            "different": self.different,
            "cases": self.cases,
            "trials": {"baseline": self.trials[0], "vendor": self.trials[1]},
            "p_whole": self.whole,
            "alpha": ALPHA,
            "permutations": self.deals,
            "seed": self.seed,
            "needed_cases": self.needed,
            "price_ratio": self.price,
            "remarks": list(self.remarks),
            "trial_copies": dict(self.copies),
            "gates": [result.as_json() for result in self.gates],
        }
