"""Ranks candidates by Inverse Rank Fusion, per model and over all models: gates, exact scores, and resampled ranks."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from trialbed.statistics import RESAMPLES, CaseBootstrap, Estimate
from trialbed_verify.documents import as_document, fields_as_document
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

QUALITY = ("success_rate", "f1", "schema_accuracy")
"""Metrics that only a vendor without valid answers lacks; those of speed and cost depend on how it streams."""


@dataclass(frozen=True)
class VendorMetrics:
    """A model at a vendor, with its six metrics.

    Attributes:
        metrics: a missing metric has no value.
        is_baseline: whether the others of the model are compared with this one.
        protocol_errors: the share of answers that broke the protocol; None if unknown.
        excess: F1 above chance at the same trigger rates, with its one-sided 95 % bound as ``low``; None if it is
            unknown or meaningless.
        cost: of 1,000 answers at the prices of the configuration; None without prices.
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
    cost: float | None = None
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


Name = TypeVar("Name", bound=Hashable)

K = 5
"""Added to each rank; with six metrics, a candidate that is first in all of them scores 1."""


CONFIDENCE = 0.95
"""Share of resamples in which one of two candidates must be ahead; otherwise they are tied."""

EPSILON = 1e-12
"""Scores that differ by less are equal, apart from floating-point error."""


def average_ranks(values: Mapping[Name, float], *, more_is_better: bool) -> dict[Name, Fraction]:
    """Return ranks from 1; equal values share the average of their places."""
    ranks = {}
    for name, value in values.items():
        before = sum(other > value if more_is_better else other < value for other in values.values())
        equal = sum(other == value for other in values.values())
        ranks[name] = Fraction(2 * before + equal + 1, 2)
    return ranks


def ranks_by_metric(
    metrics: Mapping[Name, Mapping[str, float]], chosen: Collection[str] = METRICS
) -> dict[Name, dict[str, Fraction]]:
    """Return the average ranks of all candidates in the chosen metrics.

    Args:
        metrics: name -> metric -> value, with all chosen metrics.
    """
    found: dict[Name, dict[str, Fraction]] = {name: {} for name in metrics}
    for metric, about in METRICS.items():
        if metric not in chosen:
            continue
        values = {name: own[metric] for name, own in metrics.items()}
        for name, rank in average_ranks(values, more_is_better=about.more_is_better).items():
            found[name][metric] = rank
    return found


def irf(ranks: Mapping[str, Fraction], k: int = K) -> Fraction:
    """Return a candidate's score: the sum of 1 / (rank + k) over its metrics."""
    return sum((1 / (rank + k) for rank in ranks.values()), Fraction(0))


def places(scores: Mapping[Name, Fraction]) -> dict[Name, int]:
    """Return places from 1, highest score first; equal scores share the better place."""
    return {name: 1 + sum(other > score for other in scores.values()) for name, score in scores.items()}


@dataclass(frozen=True)
class ResampledRanks:
    """The places of candidates in each resample.

    Attributes:
        places: shape (resamples, candidates), from 1.
        scores: the underlying IRF scores, in the same shape.
    """

    places: NDArray[np.int64]
    scores: NDArray[np.float64]

    def interval(self, number: int) -> tuple[int, int]:
        """Return the range of a candidate's places in 95 % of resamples."""
        low, high = np.quantile(self.places[:, number], (0.025, 0.975), method="inverted_cdf")
        return int(low), int(high)

    def ties(self, number: int) -> list[int]:
        """Return the numbers of candidates tied with this one: neither is ahead in 95 % of resamples."""
        own = self.scores[:, [number]]
        ahead = (own > self.scores + EPSILON).mean(axis=0)
        behind = (own < self.scores - EPSILON).mean(axis=0)
        return [
            other
            for other in range(self.scores.shape[1])
            if other != number and max(ahead[other], behind[other]) < CONFIDENCE
        ]


def resampled_ranks(
    candidates: Sequence[VendorMetrics], k: int, resamples: int, seed: int, chosen: Collection[str] = METRICS
) -> ResampledRanks | None:
    """Rank resampled cases, the same ones for all candidates of a model; None if only figures are known."""
    drawn = [_draws(candidate, resamples, seed) for candidate in candidates]
    if not drawn or any(own is None for own in drawn):
        return None
    values = np.stack([own for own in drawn if own is not None], axis=1)
    scores = np.zeros(values.shape[:2])
    for number, (name, metric) in enumerate(METRICS.items()):
        if name in chosen:
            scores += 1 / (_average_ranks(values[:, :, number], metric.more_is_better) + k)
    ahead = scores[:, :, None] + EPSILON < scores[:, None, :]
    return ResampledRanks(1 + ahead.sum(axis=2), scores)


def _draws(candidate: VendorMetrics, resamples: int, seed: int) -> NDArray[np.float64] | None:
    """Return the six metrics in each resample, of shape (resamples, 6)."""
    if candidate.columns is None:
        return None
    pairs = [candidate.columns[metric] for metric in METRICS]
    columns = np.stack([column for pair in pairs for column in pair], axis=1)
    sums = CaseBootstrap(len(columns), resamples, seed).sums(columns)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[:, 0::2] / sums[:, 1::2], dtype=np.float64)


def _average_ranks(values: NDArray[np.float64], more_is_better: bool) -> NDArray[np.float64]:
    """Return average ranks in each resample; an undefined value ranks last."""
    goodness = np.nan_to_num(values if more_is_better else -values, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    ahead = (goodness[:, None, :] > goodness[:, :, None]).sum(axis=2)
    equal = (goodness[:, None, :] == goodness[:, :, None]).sum(axis=2)
    return np.asarray(ahead + (equal + 1) / 2, dtype=np.float64)


@dataclass(frozen=True)
class RankOptions:
    """Options of a ranking of vendors.

    Attributes:
        k: added to each rank.
        gates: minimum requirements for being ranked.
        resamples: number of bootstrap resamples.
        seed: of all random draws.
        metrics: by which candidates are ranked; None for those of quality, and those of speed and cost that no
            candidate lacks.
    """

    k: int = K
    gates: Gates = field(default_factory=Gates)
    resamples: int = RESAMPLES
    seed: int = 0
    metrics: tuple[str, ...] | None = None


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
            "cost_per_1000": self.vendor.cost,
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


STREAM_HINT = ". Only streamed answers have a time to the first token: verify with --stream to rank by it"

NO_INTERVALS = "Ranks from a table have no intervals, which need result files"


def rank(candidates: Sequence[VendorMetrics], options: RankOptions | None = None) -> Ranking:
    """Rank the vendors of each model, and the vendors of all models together."""
    asked = options or RankOptions()
    metrics = _available(candidates, asked.gates) if asked.metrics is None else asked.metrics
    chosen = replace(asked, metrics=tuple(metric for metric in METRICS if metric in metrics))
    has_intervals = all(candidate.columns is not None for candidate in candidates)
    models = dict.fromkeys(candidate.model for candidate in candidates)
    return Ranking(
        k=chosen.k,
        gates=chosen.gates,
        resamples=chosen.resamples if has_intervals else None,
        seed=chosen.seed if has_intervals else None,
        metrics=chosen.metrics or (),
        models={model: _standings([one for one in candidates if one.model == model], chosen) for model in models},
        overall=_standings(candidates, chosen),
        notes=(*_notes(candidates, chosen.metrics or ()), *(() if has_intervals else (NO_INTERVALS,))),
    )


def _available(candidates: Sequence[VendorMetrics], gates: Gates) -> tuple[str, ...]:
    """Return all metrics but those of speed and cost that a candidate lacks which passes the gates."""
    able = [one for one in candidates if not gates.exclusions(one, QUALITY) and not gates.failings(one)]
    lacking = {metric for one in able for metric, found in one.metrics.items() if found.value is None}
    return tuple(metric for metric in METRICS if metric not in lacking)


def _notes(candidates: Sequence[VendorMetrics], metrics: Sequence[str]) -> Iterator[str]:
    """Yield the metrics that do not count, with the vendors that lack them."""
    for metric in METRICS:
        if metric not in metrics:
            lacking = [f"{one.vendor} ({one.model})" for one in candidates if one.metrics[metric].value is None]
            vendors = f"; missing for {', '.join(lacking)}" if lacking else ""
            hint = STREAM_HINT if lacking and metric == "ttft_ms" else ""
            yield f"Not ranked by {METRICS[metric].label.partition(',')[0]}{vendors}{hint}"


def _standings(candidates: Sequence[VendorMetrics], options: RankOptions) -> Standings:
    gates = options.gates
    excluded = {one.name: gates.exclusions(one, options.metrics or ()) for one in candidates}
    eligible = [one for one in candidates if not excluded[one.name]]
    failings = {one.name: gates.failings(one) for one in eligible}
    ranked = [one for one in eligible if not failings[one.name]]
    behind = [one for one in eligible if failings[one.name]]
    return Standings(
        baseline=next((one.vendor for one in candidates if one.is_baseline), None),
        ranked=_ranked_vendors(ranked, options),
        behind=tuple(
            Placing(one, "behind", rank=len(ranked) + 1, tie=len(behind) > 1, reasons=tuple(failings[one.name]))
            for one in behind
        ),
        not_ranked=tuple(
            Placing(one, "not_ranked", reasons=tuple(excluded[one.name])) for one in candidates if excluded[one.name]
        ),
    )


def _ranked_vendors(candidates: Sequence[VendorMetrics], options: RankOptions) -> tuple[Placing, ...]:
    metrics = options.metrics or ()
    ranks = ranks_by_metric({one.name: one.values() for one in candidates}, metrics)
    scores: dict[tuple[str, str], Fraction] = {name: irf(own, options.k) for name, own in ranks.items()}
    place_of = places(scores)
    resampled = resampled_ranks(candidates, options.k, options.resamples, options.seed, metrics)
    rows = []
    for number, one in enumerate(candidates):
        row = Placing(
            one,
            "ranked",
            rank=place_of[one.name],
            tie=list(scores.values()).count(scores[one.name]) > 1,
            score=scores[one.name],
            ranks=ranks[one.name],
        )
        if resampled is not None:
            low, high = resampled.interval(number)
            tied = tuple(candidates[other].name for other in resampled.ties(number))
            row = replace(row, rank_low=low, rank_high=high, tied_with=tied)
        rows.append(row)
    return tuple(sorted(rows, key=lambda row: row.rank or 0))
