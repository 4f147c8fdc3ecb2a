"""The figures of K2-style comparisons, with their names and rules."""

from __future__ import annotations

from collections import Counter

from trialbed_verify.comparison._pairing import Pairing
from trialbed_verify.comparison._records import CallAccuracy, K2Figures, TriggerSimilarity

TRIGGER = "tool_calls"


def k2_figures(pairing: Pairing) -> K2Figures:
    """Return the K2-style figures of two files.

    Pairs with a failed row are left out, a finish reason other than ``tool_calls`` is a negative, a ratio without a
    denominator is 0, and figures have four decimals. Unlike in those tools, rows are paired by content; all trials
    count, those with equal numbers as pairs, where those tools keep the last row of a request.
    """
    rows = [rows for pair in pairing.pairs for rows in pair.rows()]
    both = [(one, other) for one, other in rows if one.success and other.success]
    counted = Counter((one.finish_reason == TRIGGER, other.finish_reason == TRIGGER) for one, other in both)
    triggered = [other for _, other in both if other.finish_reason == TRIGGER]
    ours, theirs = (side.cases(by_name=pairing.by_name) for side in (pairing.baseline, pairing.vendor))
    return K2Figures(
        total_baseline=len(ours),
        total_vendor=len(theirs),
        common_indices=len(pairing.cases),
        matched_success=len(both),
        skipped_failures=len(rows) - len(both),
        tool_call_trigger_similarity=trigger_similarity(
            counted[True, True], counted[False, True], counted[True, False], counted[False, False]
        ),
        tool_call_schema_accuracy=call_accuracy(len(triggered), sum(row.valid is True for row in triggered)),
    )


def trigger_similarity(tp: int, fp: int, fn: int, tn: int) -> TriggerSimilarity:
    """Return counts, precision, recall and F1, with the baseline's decision as the truth."""
    precision, recall = _ratio(tp, tp + fp), _ratio(tp, tp + fn)
    f1 = _ratio(2 * precision * recall, precision + recall)
    return TriggerSimilarity(tp, fp, fn, tn, round(precision, 4), round(recall, 4), round(f1, 4))


def call_accuracy(triggered: int, valid: int) -> CallAccuracy:
    """Return the counts of responses that ended with tool calls, and of those whose calls all fit their schemas."""
    return CallAccuracy(triggered, valid, f"{_ratio(valid, triggered):.2%}")


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
