"""Ranks candidates, per model and over all models, and makes the document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from trialbed.statistics import RESAMPLES
from trialbed_verify.ranking._candidates import METRICS, Candidate, Gates
from trialbed_verify.ranking._irf import K, ResampledRanks, irf, places, ranks_by_metric, resampled_ranks

Document = dict[str, Any]
Name = tuple[str, str]

STREAMED = frozenset(("tps", "ttft_ms"))
"""Metrics that only streamed answers have."""

STREAM_HINT = (
    "Only streamed answers have times to the first token: verify with --stream, or rank by the other metrics with "
    "--metrics available"
)

NO_INTERVALS = "Ranks from a table have no intervals, which need result files"


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


def rank(candidates: Sequence[Candidate], options: RankOptions | None = None) -> Document:
    """Rank the vendors of each model, and the vendors of all models together."""
    asked = options or RankOptions()
    chosen = replace(asked, metrics=_available(candidates, asked.gates)) if asked.metrics is None else asked
    models = dict.fromkeys(candidate.model for candidate in candidates)
    resampled = all(candidate.columns is not None for candidate in candidates)
    return {
        "k": chosen.k,
        "gates": chosen.gates.as_json(),
        "resamples": chosen.resamples if resampled else None,
        "seed": chosen.seed if resampled else None,
        "metrics": list(_by(chosen)),
        "models": [
            {"model": model, **_ranking([one for one in candidates if one.model == model], chosen)} for model in models
        ],
        "global": _ranking(candidates, chosen),
        "notes": [*_left_out(candidates, chosen), *_hints(candidates, chosen), *([] if resampled else [NO_INTERVALS])],
    }


def _by(options: RankOptions) -> tuple[str, ...]:
    """The metrics that count, in the order of ``METRICS``."""
    return tuple(metric for metric in METRICS if options.metrics is None or metric in options.metrics)


def _available(candidates: Sequence[Candidate], gates: Gates) -> tuple[str, ...]:
    """The metrics of every candidate that can be ranked at all; without such candidates, all of them."""
    able = [one for one in candidates if not gates.troubles(one) and one.metrics["success_rate"].value is not None]
    found = tuple(metric for metric in METRICS if all(one.metrics[metric].value is not None for one in able))
    return found or tuple(METRICS)


def _left_out(candidates: Sequence[Candidate], options: RankOptions) -> list[str]:
    """Which metrics do not count, and which vendors lack them."""
    notes = []
    for metric in METRICS:
        if metric not in _by(options):
            lacking = [f"{one.vendor} ({one.model})" for one in candidates if one.metrics[metric].value is None]
            who = f"; missing for {', '.join(lacking)}" if lacking else ""
            notes.append(f"Not ranked by {metric}{who}")
    return notes


def _hints(candidates: Sequence[Candidate], options: RankOptions) -> list[str]:
    """What to do where answers lack nothing but the times that only streams have."""
    wanted = STREAMED & set(_by(options))
    for one in candidates:
        lacking = {metric for metric in _by(options) if one.metrics[metric].value is None}
        # A rate of tokens alone is missing where answers come in one piece, streamed or not.
        if "ttft_ms" in lacking and lacking <= wanted and one.metrics["success_rate"].value:
            return [STREAM_HINT]
    return []


def _ranking(candidates: Sequence[Candidate], options: RankOptions) -> Document:
    """The ranked candidates, those placed behind them, and those that are not ranked."""
    excluded = {one.name: options.gates.exclusions(one, _by(options)) for one in candidates}
    failing = {one.name: options.gates.failings(one) for one in candidates if not excluded[one.name]}
    ranked = [one for one in candidates if failing.get(one.name) == []]
    behind = [one for one in candidates if failing.get(one.name)]
    return {
        "baseline": next((one.vendor for one in candidates if one.is_baseline), None),
        "ranked": _ranked(ranked, options),
        "behind": [
            _row(one) | {"rank": len(ranked) + 1, "tie": len(behind) > 1, "reasons": failing[one.name]}
            for one in behind
        ],
        "not_ranked": [_row(one) | {"reasons": excluded[one.name]} for one in candidates if excluded[one.name]],
    }


def _ranked(candidates: list[Candidate], options: RankOptions) -> list[Document]:
    by = _by(options)
    ranks = ranks_by_metric({one.name: one.values() for one in candidates}, by)
    scores = {name: irf(own, options.k) for name, own in ranks.items()}
    ranking = places(scores)
    resampled = resampled_ranks(candidates, options.k, options.resamples, options.seed, by)
    rows = [
        _row(one)
        | _score(one.name, scores, ranking)
        | {"ranks": {metric: float(own) for metric, own in ranks[one.name].items()}}
        | _confidence(number, candidates, resampled)
        for number, one in enumerate(candidates)
    ]
    return sorted(rows, key=lambda row: row["rank"])


def _row(candidate: Candidate) -> Document:
    return {
        "model": candidate.model,
        "vendor": candidate.vendor,
        "is_baseline": candidate.is_baseline,
        "metrics": candidate.metrics_json(),
        "notes": list(candidate.notes),
        "panel": candidate.panel and {key: candidate.panel[key] for key in ("finding", "reason", "different")},
    }


def _score(name: Name, scores: dict[Name, Fraction], ranking: dict[Name, int]) -> Document:
    score = scores[name]
    return {
        "rank": ranking[name],
        "tie": sum(other == score for other in scores.values()) > 1,
        "irf": float(score),
        "irf_exact": str(score),
    }


def _confidence(number: int, candidates: list[Candidate], resampled: ResampledRanks | None) -> Document:
    if resampled is None:
        return {"rank_low": None, "rank_high": None, "tied_with": None}
    low, high = resampled.interval(number)
    return {
        "rank_low": low,
        "rank_high": high,
        "tied_with": [list(candidates[other].name) for other in resampled.ties(number)],
    }
