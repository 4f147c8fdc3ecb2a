"""The figures over all trials of a framework, each with its denominator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from trialbed.contracts import STATUS_VALUES
from trialbed.records import GoldAnswer, Run, Score, TrialResult
from trialbed.report._claims import claims, totals
from trialbed.report._means import LEVEL, TIMES, ScoreValues, figures, mean, score_values, timed
from trialbed.report._reasons import failure_reasons, untold_reasons
from trialbed.report._repeats import repeat_figures
from trialbed.statistics import quantile
from trialbed.wire_log import finish_reasons, refusals, text_calls, truncated

Pair = tuple[int | str, int]
"""A query and a repeat."""


def summary(
    run: Run,
    results: Sequence[TrialResult],
    quality: Collection[str],
    common: Collection[Pair] | None = None,
    earlier: Sequence[TrialResult] = (),
    bare: Collection[int | str] = (),
    first_apart: bool | None = None,
    *,
    gold: Mapping[int | str, GoldAnswer] | None = None,
) -> dict[str, Any]:
    """The document's ``summary``.

    A mean of a score of quality is over the trials that were measured, those that failed counted as 0; of any other
    score over those that ended with an answer: ``denominators`` has how many. ``intervals`` has 95% Wilson intervals
    of bounded scores, clustered by query. Times are seconds.

    Args:
        results: in the order of the document's entries.
        quality: the scores that a failed trial has as 0.
        common: the queries and repeats that were measured for every framework, where some were not.
        earlier: attempts that do not count; what they used is in the totals.
        bare: the queries whose gold calls have no arguments.
        first_apart: whether times leave out each worker's first trial; None for wherever there are others.
        gold: what the gold calls of queries were answered, where the run made them.
    """
    gold_times = [gold[result.key.query_id].seconds for result in results if gold and result.key.query_id in gold]
    measured = [result for result in results if result.status != "not measured"]
    answered = [result for result in results if result.status == "answered"]
    scores = score_values(measured, quality, bare, first_apart=first_apart)
    times = timed(answered, first_apart=first_apart)
    return {
        "total_queries": len({result.key.query_id for result in results}),
        "total_trials": len(results),
        **_ends(run, results),
        **_statuses(measured),
        **_finish(measured),
        **{f"average_{score.name}": score.mean for score in scores},
        "average_gold_answer_time": mean(gold_times),
        "average_system_answer_time": mean(result.outcome.wall_time for result in times),
        "average_evaluation_time": mean(result.evaluation_time for result in answered),
        "overall_time": run.overall_time,
        "quality_scores": [score.name for score in scores if score.name in quality],
        "over_answered": figures(score_values(answered, (), first_apart=first_apart), len(answered)),
        "common": _common(measured, quality, common, bare, first_apart),
        **_spread(scores),
        **repeat_figures(measured),
        "first_trials": _first_trials(answered, times),
        "denominators": _denominators(measured, answered, times, scores) | {"gold_answer_time": len(gold_times)},
        "intervals": {score.name: score.interval for score in scores if score.interval},
        "interval_level": LEVEL,
        "untold_scores": _untold(answered),
        "untold_reasons": untold_reasons(results),
        "claims": claims(answered),
        **_wire_figures(results),
        "totals": totals([*results, *earlier]),
        "repeated": _repeated(results, earlier),
    }


def _repeated(results: Sequence[TrialResult], earlier: Sequence[TrialResult]) -> dict[str, int]:
    """How many trials were measured several times, and in how many of them a later attempt counts."""
    others = {(other.key, other.attempt) for other in earlier if other.status != "not measured"}
    keys = {key for key, _ in others}
    replaced = [result for result in results if any((result.key, number) in others for number in range(result.attempt))]
    return {"trials": sum(1 for result in results if result.key in keys), "replaced": len(replaced)}


def _ends(run: Run, results: Sequence[TrialResult]) -> dict[str, Any]:
    """How many trials ended in which way, and why; a trial that never began was not measured either."""
    statuses = Counter(result.status for result in results)
    planned = max(len(run.config.query_ids) * run.config.repeat, len(results))
    return {
        "answered_count": statuses["answered"],
        "failed_count": statuses["failed"],
        "not_measured_count": planned - statuses["answered"] - statuses["failed"],
        "error_count": len(results) - statuses["answered"],
        "errors": dict(Counter(result.outcome.failure.kind for result in results if result.outcome.failure)),
        "failures": failure_reasons(results),
    }


def _statuses(measured: Sequence[TrialResult]) -> dict[str, Any]:
    counts = Counter(score.label for score in _of("sopr_score", measured))
    counts["Unsolved"] += _failed(measured)
    judged = sum(counts.values())
    found: dict[str, Any] = {}
    for status in STATUS_VALUES:
        found[f"{status.lower()}_count"] = counts[status]
        found[f"{status.lower()}_percentage"] = _percentage(counts[status], judged)
    return found


def _finish(measured: Sequence[TrialResult]) -> dict[str, Any]:
    scores = _of("has_finish", measured)
    finished = sum(1 for score in scores if score.value)
    return {"finish_count": finished, "finish_percentage": _percentage(finished, len(scores) + _failed(measured))}


def _of(name: str, results: Sequence[TrialResult]) -> list[Score]:
    scores = (result.score(name) for result in results if result.status == "answered")
    return [score for score in scores if score is not None and score.value is not None]


def _failed(results: Iterable[TrialResult]) -> int:
    return sum(1 for result in results if result.status == "failed")


def _common(
    measured: Sequence[TrialResult],
    quality: Collection[str],
    common: Collection[Pair] | None,
    bare: Collection[int | str],
    first_apart: bool | None,
) -> dict[str, Any] | None:
    if common is None:
        return None
    shared = [result for result in measured if (result.key.query_id, result.key.repeat) in common]
    return figures(score_values(shared, quality, bare, first_apart=first_apart), len(shared))


def _spread(scores: Sequence[ScoreValues]) -> dict[str, Any]:
    """The medians of unbounded scores, and the quartiles between which half of their values lie."""
    unbounded = {score.name: sorted(score.all) for score in scores if score.all and not score.bounded}
    return {
        "medians": {name: median(values) for name, values in unbounded.items()},
        "quartiles": {
            name: [quantile(values, 0.25), quantile(values, 0.75)] for name, values in unbounded.items()
        },
    }  # fmt: skip


def _first_trials(answered: Sequence[TrialResult], times: Sequence[TrialResult]) -> dict[str, Any]:
    """The times of each worker's first trial, and whether they are left out of the means and medians."""
    first = [result for result in answered if result.outcome.first]
    kept_apart = len(times) < len(answered)
    averages = {score.name: score.mean for score in score_values(first, ()) if score.name in TIMES}
    return {"count": len(first), "kept_apart": kept_apart, "averages": averages}


def _denominators(
    measured: Sequence[TrialResult],
    answered: Sequence[TrialResult],
    times: Sequence[TrialResult],
    scores: Sequence[ScoreValues],
) -> dict[str, int]:
    judged = len(_of("sopr_score", measured)) + _failed(measured)
    return {
        **{score.name: len(score.all) for score in scores},
        **dict.fromkeys((status.lower() for status in STATUS_VALUES), judged),
        "finish": len(_of("has_finish", measured)) + _failed(measured),
        "system_answer_time": len(times),
        "evaluation_time": len(answered),
    }


def _untold(answered: Sequence[TrialResult]) -> dict[str, int]:
    return dict(Counter(score.name for result in answered for score in result.scores if score.value is None))


def _wire_figures(results: Sequence[TrialResult]) -> dict[str, Any]:
    """Facts of the wire over all trials, those that failed too."""
    wires = [result.wire for result in results]
    cut = [truncated(wire) for wire in wires]
    written = [len(text_calls(wire)) for wire in wires]
    refused = [refusals(wire) for wire in wires]
    return {
        "finish_reasons": dict(sum((finish_reasons(wire) for wire in wires), Counter())),
        "truncated": {"answers": sum(cut), "trials": _trials(cut)},
        "text_calls": {"calls": sum(written), "trials": _trials(written)},
        "refused_requests": {
            "requests": sum(counts.total() for counts in refused),
            "trials": _trials(counts.total() for counts in refused),
            "limits": dict(sum(refused, Counter())),
        },
        "lost_calls": {
            "calls": sum(len(wire.lost) for wire in wires),
            "trials": _trials(len(wire.lost) for wire in wires),
            "reasons": dict(Counter(call.reason for wire in wires for call in wire.lost)),
        },
        "filled_arguments": {
            "arguments": sum(len(wire.filled) for wire in wires),
            "trials": _trials(len(wire.filled) for wire in wires),
        },
        "cached_calls": {
            "calls": sum(len(wire.api_calls) for wire in wires),
            "cached": sum(1 for wire in wires for call in wire.api_calls if call.cached),
        },
    }


def _trials(counts: Iterable[int]) -> int:
    return sum(1 for count in counts if count)


def _percentage(count: int, total: int) -> float | None:
    return 100 * count / total if total else None
