"""Vendors to be ranked: their six metrics, and the gates they must pass."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trialbed.statistics import Estimate
from trialbed_verify.panel import Panel

Columns = Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
"""Metric -> numerator and denominator per case: the metric is the ratio of their sums."""

TABLE_MIN_F1 = 0.5
"""For a table, which has no F1 of chance: below it, more calls are wrong or missing than right."""


MANNER = frozenset(
    ("text-opening", "text-length", "text-words", "usage", "tokens", "prompt-tokens", "bill", "logprobs")
)
"""Gates of the panel at which a vendor can differ without a caller's being broken: manner, and cost."""


@dataclass(frozen=True)
class Metric:
    """A metric: its label and its meaning, whether more is better, and the range of its values."""

    label: str
    meaning: str
    more_is_better: bool
    greatest: float | None = None
    zero_is_possible: bool = False


METRICS: Mapping[str, Metric] = {
    "success_rate": Metric(
        "success", "the share of requests with a valid answer", more_is_better=True, greatest=1.0, zero_is_possible=True
    ),
    "f1": Metric(
        "F1",
        "how far it calls tools where the baseline does, 1 if in the same cases",
        more_is_better=True,
        greatest=1.0,
        zero_is_possible=True,
    ),
    "tps": Metric("tokens/s", "the mean speed of answers", more_is_better=True),
    "schema_accuracy": Metric(
        "schema",
        "the share of answers with calls whose calls all fit their tools' schemas",
        more_is_better=True,
        greatest=1.0,
        zero_is_possible=True,
    ),
    "ttft_ms": Metric("TTFT, ms", "the mean time to the first token", more_is_better=False),
    "avg_token": Metric("tokens", "the mean number for an answer", more_is_better=False),
}
"""Name of the metric in tables -> its description."""


@dataclass(frozen=True)
class VendorMetrics:
    """A model at a vendor, with its six metrics.

    Attributes:
        metrics: a missing metric has no value.
        is_baseline: whether the others of the model are compared with this one.
        protocol_errors: the share of answers that broke the protocol; None if unknown.
        excess: F1 above chance at the same trigger rates, with its one-sided 95 % bound as ``low``; None if it is
            unknown or meaningless.
        columns: for resampling; None if only figures are known. Cases are in the same order for a whole model.
        incomplete: the cases that its file lacks, in words; empty if none.
        notes: remarks for readers of its row.
        panel: the panel's verdict on it; None for a baseline or a table.
    """

    model: str
    vendor: str
    metrics: Mapping[str, Estimate]
    is_baseline: bool = False
    protocol_errors: float | None = None
    excess: Estimate | None = None
    columns: Columns | None = None
    incomplete: str = ""
    notes: tuple[str, ...] = ()
    panel: Panel | None = None

    @property
    def name(self) -> tuple[str, str]:
        """Return model and vendor."""
        return self.model, self.vendor

    def values(self) -> dict[str, float]:
        """Return the known metrics."""
        return {metric: found.value for metric, found in self.metrics.items() if found.value is not None}


@dataclass(frozen=True)
class Gates:
    """Minimum requirements for being ranked.

    Attributes:
        min_success: least success rate.
        max_protocol_errors: largest share of answers that break the protocol.
        min_f1: least F1; None for the F1 of chance or, for a table, one half.
        rank_different: rank by their figures also those that the panel shows to break what callers rely on.
    """

    min_success: float = 0.9
    max_protocol_errors: float = 0.05
    min_f1: float | None = None
    rank_different: bool = False

    def exclusions(self, candidate: VendorMetrics, metrics: Collection[str] = METRICS) -> list[str]:
        """Return the reasons why a candidate is not ranked at all, if these metrics count."""
        return [*self._missing(candidate, metrics), *self.troubles(candidate)]

    def troubles(self, candidate: VendorMetrics) -> list[str]:
        """Return the reasons why a candidate is not ranked whichever metrics count."""
        incomplete = [candidate.incomplete] if candidate.incomplete else []
        return [*incomplete, *self._unreliable(candidate)]

    def failings(self, candidate: VendorMetrics) -> list[str]:
        """Return the reasons why a candidate is placed last, after all ranked ones."""
        if candidate.is_baseline:
            return []
        return self._by_f1(candidate) or ([] if self.rank_different else list(_differences(candidate)))

    def _by_f1(self, candidate: VendorMetrics) -> list[str]:
        value = candidate.metrics["f1"].value
        if value is None:
            return []
        least = self.min_f1
        if least is None and candidate.columns is None:
            least = TABLE_MIN_F1
        if least is not None:
            return [f"F1 {value:.4f} is below {least:g}"] if value < least else []
        return list(_by_chance(candidate))

    def _missing(self, candidate: VendorMetrics, metrics: Collection[str]) -> Iterator[str]:
        missing = [metric for metric in METRICS if metric in metrics and candidate.metrics[metric].value is None]
        if missing:
            yield f"no figure for {', '.join(METRICS[metric].label.partition(',')[0] for metric in missing)}"

    def _unreliable(self, candidate: VendorMetrics) -> Iterator[str]:
        rate = candidate.metrics["success_rate"].value
        if rate is not None and rate < self.min_success:
            yield f"success rate {rate:.4f} is below {self.min_success:g}"
        errors = candidate.protocol_errors
        if errors is not None and errors > self.max_protocol_errors:
            most = f"{100 * self.max_protocol_errors:.1f} %"
            yield f"{100 * errors:.1f} % of its answers break the protocol, more than {most}"


def _differences(candidate: VendorMetrics) -> Iterator[str]:
    """Yield a reason if the panel shows a difference that breaks callers: no speed or price makes up for that."""
    if candidate.panel is None or candidate.panel.finding != "different":
        return
    apart = (one.gate for one in candidate.panel.gates if one.finding == "different")
    broken = [gate.meaning for gate in apart if gate.name not in MANNER]
    if broken:
        yield f"it differs in what callers rely on ({', '.join(broken)})"


def _by_chance(candidate: VendorMetrics) -> Iterator[str]:
    excess = candidate.excess
    if excess is None or excess.value is None:
        return
    if excess.interval is None or excess.interval.low <= 0:
        low = "unknown" if excess.interval is None else f"{excess.interval.low:+.4f}"
        yield (
            "its decisions are not shown to be better than chance: F1 minus the F1 of chance "
            f"is {excess.value:+.4f}, lower bound {low}"
        )
