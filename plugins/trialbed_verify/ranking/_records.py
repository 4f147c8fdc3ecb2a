"""A ranking as frozen records, and the JSON document of it that users read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from trialbed.statistics import RESAMPLES
from trialbed_verify.documents import as_document, fields_as_document
from trialbed_verify.ranking._candidates import METRICS, Gates, VendorMetrics
from trialbed_verify.ranking._irf import K


@dataclass(frozen=True)
class RankOptions:
    """Options of a ranking of vendors.

    Attributes:
        k: added to each rank.
        gates: minimum requirements for being ranked.
        resamples: number of bootstrap resamples.
        seed: of all random draws.
        metrics: by which candidates are ranked; None for those that all of them have.
    """

    k: int = K
    gates: Gates = field(default_factory=Gates)
    resamples: int = RESAMPLES
    seed: int = 0
    metrics: tuple[str, ...] | None = tuple(METRICS)


@dataclass(frozen=True)
class Placing:
    """A vendor's place in a ranking.

    Attributes:
        status: ``behind`` for one that is placed last, after all ranked ones.
        tie: whether another has the same place.
        score: by Inverse Rank Fusion.
        ranks: metric -> rank in it.
        rank_low, rank_high: the places in 95 % of resamples; None for a table.
        tied_with: names of those of whom neither is ahead in 95 % of resamples; None for a table.
        reasons: why it is not ranked, or placed last.
    """

    vendor: VendorMetrics
    status: Literal["ranked", "behind", "not_ranked"]
    rank: int | None = None
    tie: bool | None = None
    score: Fraction | None = None
    ranks: Mapping[str, Fraction] = field(default_factory=dict)
    rank_low: int | None = None
    rank_high: int | None = None
    tied_with: tuple[tuple[str, str], ...] | None = None
    reasons: tuple[str, ...] = ()

    @property
    def name(self) -> tuple[str, str]:
        """Return model and vendor."""
        return self.vendor.name

    @property
    def irf(self) -> float | None:
        """Return the score as a number."""
        return None if self.score is None else float(self.score)

    @property
    def is_different(self) -> bool:
        """Return whether the panel shows that the vendor differs from its baseline."""
        return self.vendor.panel is not None and self.vendor.panel.finding == "different"

    def as_json(self) -> dict[str, Any]:
        """Return one JSON object, with the keys of its status."""
        panel = self.vendor.panel
        document = {
            "model": self.vendor.model,
            "vendor": self.vendor.vendor,
            "is_baseline": self.vendor.is_baseline,
            "metrics": as_document(self.vendor.metrics),
            "notes": list(self.vendor.notes),
            "panel": panel and {"finding": panel.finding, "reason": panel.reason, "different": panel.different},
        }
        if self.status != "not_ranked":
            document |= {"rank": self.rank, "tie": self.tie}
        if self.status != "ranked":
            return document | {"reasons": list(self.reasons)}
        return document | {
            "irf": self.irf,
            "irf_exact": str(self.score),
            "ranks": {metric: float(own) for metric, own in self.ranks.items()},
            "rank_low": self.rank_low,
            "rank_high": self.rank_high,
            "tied_with": as_document(self.tied_with),
        }


@dataclass(frozen=True)
class Standings:
    """The vendors that were ranked, those placed behind them, and those that are not ranked."""

    baseline: str | None
    ranked: tuple[Placing, ...]
    behind: tuple[Placing, ...]
    not_ranked: tuple[Placing, ...]

    @property
    def rows(self) -> tuple[Placing, ...]:
        """Return all vendors."""
        return (*self.ranked, *self.behind, *self.not_ranked)


@dataclass(frozen=True)
class Ranking:
    """The ranks of all vendors of each model.

    Attributes:
        resamples, seed: of the intervals; None where there are none.
        metrics: those that count.
        overall: the vendors of all models together.
    """

    k: int
    gates: Gates
    resamples: int | None
    seed: int | None
    metrics: tuple[str, ...]
    models: Mapping[str, Standings]
    overall: Standings = field(metadata={"key": "global"})
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return one JSON object."""
        models = [{"model": model, **fields_as_document(found)} for model, found in self.models.items()]
        return fields_as_document(self) | {"models": models}
