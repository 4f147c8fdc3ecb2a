"""Who may be ranked: what a vendor must do before its speed and price count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from trialbed_verify.ranking._candidates import Candidate
from trialbed_verify.ranking._metrics import METRICS

TABLE_MIN_F1 = 0.5
"""Of a table, which does not tell what chance would give: below it more calls are wrong or missing than right."""


@dataclass(frozen=True)
class Gates:
    """What is asked of a vendor.

    Attributes:
        min_success: least success rate.
        max_protocol_errors: greatest share of answers that break the protocol.
        min_f1: least F1; None for what chance would give or, of a table, one half.
    """

    min_success: float = 0.9
    max_protocol_errors: float = 0.05
    min_f1: float | None = None

    def as_json(self) -> dict[str, Any]:
        """For the document."""
        return asdict(self)

    def exclusions(self, candidate: Candidate) -> list[str]:
        """Why a candidate is not ranked at all; empty if it may be."""
        incomplete = [candidate.incomplete] if candidate.incomplete else []
        return [*incomplete, *self._missing(candidate), *self._unreliable(candidate)]

    def failings(self, candidate: Candidate) -> list[str]:
        """Why a candidate comes behind all that are ranked; empty if it does not."""
        value = candidate.metrics["f1"].value
        if candidate.is_baseline or value is None:
            return []
        least = self.min_f1
        if least is None and candidate.columns is None:
            least = TABLE_MIN_F1
        if least is not None:
            return [f"F1 {value:.4f} is below {least:g}"] if value < least else []
        return list(_by_chance(candidate))

    def _missing(self, candidate: Candidate) -> Iterator[str]:
        for metric in METRICS:
            found = candidate.metrics[metric]
            if found.value is None:
                yield f"{metric} is missing"

    def _unreliable(self, candidate: Candidate) -> Iterator[str]:
        rate = candidate.metrics["success_rate"].value
        if rate is not None and rate < self.min_success:
            yield f"success rate {rate:.4f} is below {self.min_success:g}"
        errors = candidate.protocol_errors
        if errors is not None and errors > self.max_protocol_errors:
            yield f"{errors:.1%} of its answers break the protocol, more than {self.max_protocol_errors:.1%}"


def _by_chance(candidate: Candidate) -> Iterator[str]:
    excess = candidate.excess
    if excess is None or excess.value is None:
        return
    if excess.interval is None or excess.interval.low <= 0:
        low = "unknown" if excess.interval is None else f"{excess.interval.low:+.4f}"
        yield (
            "its decisions are not shown to be better than chance: F1 less the F1 of chance "
            f"is {excess.value:+.4f}, lower bound {low}"
        )
