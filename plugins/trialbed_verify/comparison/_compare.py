"""Compares vendors with a baseline and makes one document per vendor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trialbed.statistics import RESAMPLES, CaseBootstrap, holm
from trialbed_verify.comparison._consistency import consistency, stable_subset
from trialbed_verify.comparison._decisions import Decisions, agreement, confusion, decisions, outcomes, similarity
from trialbed_verify.comparison._figures import (
    FIGURES,
    difference,
    differences,
    distribution,
    schema_accuracy,
    success_rate,
)
from trialbed_verify.comparison._k2 import k2_style
from trialbed_verify.comparison._pairing import Pair, Pairing, pair
from trialbed_verify.comparison._results import Results, Trials
from trialbed_verify.comparison._significance import MetricTest, tests
from trialbed_verify.comparison._verdict import verdict
from trialbed_verify.panel import Panel, PanelOptions, judge

MARGIN = 0.02

Document = dict[str, Any]


@dataclass(frozen=True)
class CompareOptions:
    """Options of a comparison of vendors.

    Attributes:
        margin: the largest difference in F1 that counts as equivalent; choose it before looking at the results.
        resamples: number of bootstrap resamples.
        seed: of all random draws.
        force: compare the common cases of files that differ.
        gate_margins: gate of the panel -> its margin, where it is not the usual one.
    """

    margin: float = MARGIN
    resamples: int = RESAMPLES
    seed: int = 0
    force: bool = False
    gate_margins: Mapping[str, float] = field(default_factory=dict)


def compare(baseline: Results, vendors: Iterable[Results], options: CompareOptions | None = None) -> list[Document]:
    """Make one document per vendor, with the K2-style keys and Trialbed's own.

    p-values are corrected for all vendors and metrics together.

    Args:
        vendors: each is read when the one before is done with, if they are read as they are iterated over.

    Raises:
        UsageError: the requests or settings of two files differ and ``force`` is not set.
    """
    chosen = options or CompareOptions()
    documents: list[Document] = []
    tested: dict[tuple[int, str], MetricTest] = {}
    for vendor in vendors:
        found = _Comparison(pair(baseline, vendor, force=chosen.force), chosen)
        tested |= {(len(documents), test.metric): test for test in found.tests}
        documents.append(found.document())
        # Before the next one is read.
        del vendor, found
    corrected = holm({key: test.p for key, test in tested.items()})
    for (number, metric), test in tested.items():
        documents[number]["tests"].append(test.as_json() | {"p_holm": corrected[number, metric]})
    return documents


class _Comparison:
    """The comparison of one vendor with the baseline."""

    def __init__(self, pairing: Pairing, options: CompareOptions) -> None:
        self.pairing = pairing
        self.options = options
        self.pairs: list[Pair] = pairing.pairs
        self.ours: list[Trials] = [pair.baseline for pair in self.pairs]
        self.theirs: list[Trials] = [pair.vendor for pair in self.pairs]
        self.baseline: Decisions = decisions(self.ours)
        self.vendor: Decisions = decisions(self.theirs)
        self.bootstrap = CaseBootstrap(len(self.pairs), options.resamples, options.seed)
        self.tests: list[MetricTest] = tests(self.pairs, self.baseline, self.vendor, options.seed)

    def document(self) -> Document:
        """The whole document, but for its tests."""
        itself = consistency(self.baseline, self.ours, self.bootstrap)
        return {
            **k2_style(self.pairing),
            "baseline": _about(self.pairing.baseline),
            "vendor": _about(self.pairing.vendor),
            "panel": judged(self.pairs, self.options.gate_margins, self.options.seed).as_document(),
            "pairing": self.pairing.as_json() | {"forced": self.options.force},
            "verdict": verdict(self.baseline, self.vendor, self.bootstrap, self.options.margin),
            "similarity": self._similarity(),
            "self_consistency": {
                "baseline": itself,
                "vendor": consistency(self.vendor, self.theirs, self.bootstrap),
            },
            "stable_subset": stable_subset(self.baseline, self.vendor, self.bootstrap) if itself else None,
            "decisions": confusion(self.pairs),
            "outcomes": {"baseline": _ended(self.ours), "vendor": _ended(self.theirs)},
            "success_rate": {
                "baseline": success_rate(self.ours).as_json(),
                "vendor": success_rate(self.theirs).as_json(),
            },
            "schema_accuracy": {"baseline": schema_accuracy(self.ours), "vendor": schema_accuracy(self.theirs)},
            "figures": {figure: self._figure(figure) for figure in FIGURES},
            "tests": [],
            "served": {"baseline": _served(self.ours), "vendor": _served(self.theirs)},
            "options": {
                "resamples": self.options.resamples,
                "seed": self.options.seed,
                "margin": self.options.margin,
                "force": self.options.force,
                "gate_margins": dict(self.options.gate_margins),
            },
            "notes": [*self.pairing.baseline.notes, *self.pairing.vendor.notes],
        }

    def _similarity(self) -> Document:
        return {
            name: similarity(agreement(self.baseline, self.vendor, delivered=delivered), self.bootstrap)
            for name, delivered in (("answered", False), ("delivered", True))
        }

    def _figure(self, figure: str) -> Document:
        paired = differences(figure, self.pairs)
        return {
            "baseline": distribution(figure, self.ours, self.bootstrap),
            "vendor": distribution(figure, self.theirs, self.bootstrap),
            "difference": difference(paired, self.bootstrap),
        }


def judged(pairs: Sequence[Pair], margins: Mapping[str, float], seed: int) -> Panel:
    """The panel's verdict on the vendor of some pairs."""
    sides = [
        ([row.measured for row in one.baseline.values()], [row.measured for row in one.vendor.values()])
        for one in pairs
    ]
    return judge(sides, PanelOptions(margins, seed=seed))


def _about(side: Results) -> Document:
    return {"file": str(side.path), "vendor": side.vendor, "model": side.model, "rows": len(side.rows)}


def _ended(trials: list[Trials]) -> Document:
    return outcomes(row for rows in trials for row in rows.values())


def _served(trials: list[Trials]) -> list[Document]:
    """The models, fingerprints and providers that the answers name, with counts."""
    counted = Counter(row.served for rows in trials for row in rows.values() if any(row.served))
    return [
        {"model": model, "system_fingerprint": fingerprint, "provider": provider, "rows": count}
        for (model, fingerprint, provider), count in counted.most_common()
    ]
