"""The summary of one framework in a result document, under the keys of StableToolBench's runners."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from trialbed.errors import DataError
from trialbed.integrity import Integrity
from trialbed.report._records import ClaimTotals, Figures, Reason, ScoreMean, Summary, WireTally
from trialbed.report.comparison import FrameworkComparison
from trialbed.scoring import TIMES
from trialbed.settings import secret_values
from trialbed.statistics import LEVEL
from trialbed.wire.redaction import redact

AVERAGE = "average_{}"
ALWAYS_THERE = ("prompt_tokens", "completion_tokens", "total_tokens", "model_turns", *TIMES)
"""Figures that are null where no trial has them."""

STATUSES = ("solved", "unsure", "unsolved")


def legacy_summary(summary: Summary) -> dict[str, Any]:
    """The document's ``summary``.

    Raises:
        DataError: a plugin's figure has the name of another.
    """
    figures = _summary(summary)
    taken = sorted(figures.keys() & summary.extra.keys())
    if taken:
        raise DataError(f"a plugin's aggregate_scores gives {taken[0]!r}, which the summary already has; rename it")
    cleaned: dict[str, Any] = clean({**figures, **summary.extra}, secret_values())
    return cleaned | _found_beside(summary)


def _summary(summary: Summary) -> dict[str, Any]:
    counts, times, scores = summary.counts, summary.times, summary.scores
    return {
        "total_queries": counts.queries,
        "total_trials": counts.trials,
        "answered_count": counts.answered,
        "failed_count": counts.failed,
        "not_measured_count": counts.not_measured,
        "error_count": counts.trials - counts.answered,
        "errors": counts.failures,
        "failures": [_reason(found, {"status": found.status}) for found in summary.failures],
        **_verdicts(summary),
        **dict.fromkeys(map(AVERAGE.format, ALWAYS_THERE)),
        **{AVERAGE.format(name): found.value for name, found in scores.items()},
        "average_gold_answer_time": times.gold,
        "average_system_answer_time": times.answer,
        "average_evaluation_time": times.evaluation,
        "overall_time": summary.run.overall_time,
        "quality_scores": [name for name, found in scores.items() if found.quality],
        "over_answered": _figures(summary.over_answered),
        "common": None if summary.common is None else _figures(summary.common),
        "medians": {name: found.median for name, found in scores.items() if found.median is not None},
        "quartiles": {name: found.quartiles for name, found in scores.items() if found.quartiles is not None},
        "pass_at_k": {str(k): _estimate(found) for k, found in summary.success.any.items()},
        "pass_hat_k": {str(k): _estimate(found) for k, found in summary.success.each.items()},
        "first_trials": {
            "count": times.first_trials,
            "kept_apart": times.first_apart,
            "averages": times.first,
        },
        "denominators": _denominators(summary),
        "intervals": _intervals(scores),
        "interval_level": LEVEL,
        "untold_scores": {found.score: found.count for found in summary.untold},
        "untold_reasons": [{"score": found.score, **_reason(found, {})} for found in summary.untold],
        "claims": {
            "invented": summary.claims.invented,
            "unreported": summary.claims.unreported,
            "unasked": summary.claims.unasked,
            "tokens": _claim_figures(summary.claims.tokens),
            "turns": _claim_figures(summary.claims.turns),
        },
        **_wire_figures(summary),
        "totals": {
            "prompt_tokens": summary.tokens.prompt,
            "completion_tokens": summary.tokens.completion,
            "total_tokens": summary.tokens.total,
            "model_requests": summary.tokens.requests,
            "unreported_requests": summary.tokens.unreported,
            **_recording_totals(summary),
            **_costs(summary),
        },
        "repeated": {"trials": summary.repeated.trials, "replaced": summary.repeated.replaced},
    }


def _recording_totals(summary: Summary) -> dict[str, int]:
    """Return how much came from recordings, where anything did."""
    tokens = summary.tokens
    if not tokens.recorded_requests:
        return {}
    return {"recorded_requests": tokens.recorded_requests, "recorded_tokens": tokens.recorded}


def _costs(summary: Summary) -> dict[str, Any]:
    """Return the costs, where the prices of the run's model are known."""
    if summary.tokens.cost is None:
        return {}
    return {"cost": summary.tokens.cost, "cost_per_solved": summary.cost_per_solved}


def _found_beside(summary: Summary) -> dict[str, Any]:
    """Return the attribution of the expected calls, and the comparisons with other frameworks of the run."""
    lost = summary.attribution
    attribution = {"gold_calls": lost.gold_calls, "counts": dict(lost.counts), "shares": lost.shares}
    found: dict[str, Any] = {"attribution": attribution}
    if summary.integrity.trials:
        found["integrity"] = _integrity(summary.integrity)
    found["comparisons"] = list(map(_comparison, summary.comparisons))
    if summary.ranks is not None:
        found["ranks"] = {score: list(rank) for score, rank in summary.ranks.items()}
    return found


def _integrity(integrity: Integrity) -> dict[str, Any]:
    return {
        "trials": integrity.trials,
        "void": integrity.void or None,
        "findings": {
            kind: {"count": tally.count, "trials": tally.trials, "examples": list(tally.examples)}
            for kind, tally in integrity.found.items()
        },
    }


def _comparison(comparison: FrameworkComparison) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": comparison.kind,
        "against": comparison.against,
        "scores": {score: finding.as_json() for score, finding in comparison.scores.items()},
    }
    if comparison.kind == "profile":
        found["causes"] = {cause: list(queries) for cause, queries in comparison.causes.items()}
    return found


def _reason(found: Reason, status: Mapping[str, str]) -> dict[str, Any]:
    return {
        "kind": found.kind,
        **status,
        "count": found.count,
        "message": found.message,
        "query_id": found.query_id,
        "repeat": found.repeat,
        "entry": found.entry,
    }


def _verdicts(summary: Summary) -> dict[str, Any]:
    counts = summary.counts
    found: dict[str, Any] = {}
    for status in STATUSES:
        count = getattr(counts, status)
        found[f"{status}_count"] = count
        found[f"{status}_percentage"] = _percentage(count, counts.judged)
    finished = _percentage(counts.finished, counts.finish_known)
    return {**found, "finish_count": counts.finished, "finish_percentage": finished}


def _percentage(count: int, total: int) -> float | None:
    return 100 * count / total if total else None


def _figures(found: Figures) -> dict[str, Any]:
    return {
        "trials": found.trials,
        "averages": {name: mean.value for name, mean in found.scores.items()},
        "denominators": {name: mean.denominator for name, mean in found.scores.items()},
        "intervals": _intervals(found.scores),
    }


def _intervals(scores: Mapping[str, ScoreMean]) -> dict[str, Any]:
    return {name: found.interval for name, found in scores.items() if found.interval}


def _estimate(found: ScoreMean) -> dict[str, Any]:
    low, high = found.interval or (None, None)
    return {"value": found.value, "low": low, "high": high, "n": found.denominator}


def _denominators(summary: Summary) -> dict[str, int]:
    counts, times = summary.counts, summary.times
    return {
        **{name: found.denominator for name, found in summary.scores.items()},
        **{name: 0 for name in ALWAYS_THERE if name not in summary.scores},
        **dict.fromkeys(STATUSES, counts.judged),
        "finish": counts.finish_known,
        "system_answer_time": times.timed,
        "evaluation_time": counts.answered,
        "gold_answer_time": times.gold_trials,
    }


def _claim_figures(found: ClaimTotals) -> dict[str, int]:
    return {
        "claimed": found.claimed,
        "observed": found.observed,
        "trials": found.trials,
        "differ": found.differ,
    }


def _wire_figures(summary: Summary) -> dict[str, Any]:
    wire = summary.wire
    return {
        "finish_reasons": wire.finish_reasons,
        "truncated": {"answers": wire.truncated.count, "trials": wire.truncated.trials},
        "text_calls": {"calls": wire.text_calls.count, "trials": wire.text_calls.trials},
        "refused_requests": {
            "requests": wire.refused.count,
            "trials": wire.refused.trials,
            "limits": wire.refused.kinds,
        },
        "lost_calls": {"calls": wire.lost.count, "trials": wire.lost.trials, "reasons": wire.lost.kinds},
        "filled_arguments": {"arguments": wire.filled.count, "trials": wire.filled.trials},
        "cached_calls": {"calls": wire.api_calls, "cached": wire.cached},
        **({"translated_requests": tally} if (tally := _requests(wire.translated))["requests"] else {}),
    }


def _requests(tally: WireTally) -> dict[str, int]:
    return {"requests": tally.count, "trials": tally.trials}


def clean(value: Any, secrets: Collection[str]) -> Any:
    """The value in JSON's own types: tuples as lists, NaN and infinities as null, secrets redacted."""
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): clean(item, secrets) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item, secrets) for item in value]
    return value
