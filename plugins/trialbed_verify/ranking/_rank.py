"""Ranks candidates, per model and over all models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from trialbed_verify.ranking._candidates import METRICS, Gates, VendorMetrics
from trialbed_verify.ranking._irf import irf, places, ranks_by_metric, resampled_ranks
from trialbed_verify.ranking._records import Placing, Ranking, RankOptions, Standings

STREAMED = frozenset(("tps", "ttft_ms"))
"""Metrics that only streamed answers have."""

STREAM_HINT = (
    "Only streamed answers have times to the first token: verify with --stream, or rank by the other metrics with "
    "--metrics available"
)

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
    """Return the metrics of every candidate that can be ranked at all; without such candidates, all of them."""
    able = [one for one in candidates if not gates.troubles(one) and one.metrics["success_rate"].value is not None]
    found = tuple(metric for metric in METRICS if all(one.metrics[metric].value is not None for one in able))
    return found or tuple(METRICS)


def _notes(candidates: Sequence[VendorMetrics], metrics: Sequence[str]) -> Iterator[str]:
    """Yield the metrics that do not count, with the vendors that lack them, and a hint where only streams have them."""
    for metric in METRICS:
        if metric not in metrics:
            lacking = [f"{one.vendor} ({one.model})" for one in candidates if one.metrics[metric].value is None]
            vendors = f"; missing for {', '.join(lacking)}" if lacking else ""
            yield f"Not ranked by {METRICS[metric].label.partition(',')[0]}{vendors}"
    for one in candidates:
        missing = {metric for metric in metrics if one.metrics[metric].value is None}
        # A rate of tokens alone is missing where answers come in one piece, streamed or not.
        if "ttft_ms" in missing and missing <= STREAMED and one.metrics["success_rate"].value:
            yield STREAM_HINT
            return


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
