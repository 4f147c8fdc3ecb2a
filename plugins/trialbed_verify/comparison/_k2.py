"""The figures of K2-style comparisons, with their names and rules."""

from __future__ import annotations

from collections import Counter
from typing import Any

from trialbed_verify.comparison._pairing import Pairing

TRIGGER = "tool_calls"


def k2_style(pairing: Pairing) -> dict[str, Any]:
    """The K2-style figures for two files.

    Pairs with a failed row are left out, a finish reason other than ``tool_calls`` is a negative, a ratio without a
    denominator is 0, and figures have four decimals. Unlike in those tools, rows are paired by content, and only rows
    with equal trial numbers.
    """
    rows = [rows for pair in pairing.pairs for rows in pair.rows()]
    both = [(ours, theirs) for ours, theirs in rows if ours.success and theirs.success]
    counted = Counter((ours.finish_reason == TRIGGER, theirs.finish_reason == TRIGGER) for ours, theirs in both)
    triggered = [theirs for _, theirs in both if theirs.finish_reason == TRIGGER]
    return {
        "total_baseline": len(pairing.baseline.rows),
        "total_vendor": len(pairing.vendor.rows),
        "common_indices": len(rows),
        "matched_success": len(both),
        "skipped_failures": len(rows) - len(both),
        "tool_call_trigger_similarity": trigger_similarity(
            counted[True, True], counted[False, True], counted[True, False], counted[False, False]
        ),
        "tool_call_schema_accuracy": schema_accuracy(len(triggered), sum(row.valid is True for row in triggered)),
    }


def trigger_similarity(tp: int, fp: int, fn: int, tn: int) -> dict[str, Any]:
    """Counts, precision, recall and F1, with the baseline's decision as the truth."""
    precision, recall = _ratio(tp, tp + fp), _ratio(tp, tp + fn)
    return {
        "TP": tp,
        "FP": fp,
        "FN": fn,
        "TN": tn,
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "f1": round(_ratio(2 * precision * recall, precision + recall), 4),
    }


def schema_accuracy(triggered: int, valid: int) -> dict[str, Any]:
    """Counts of responses that ended with tool calls, and of those whose calls all fit their schemas."""
    return {
        "count_finish_reason_tool_calls": triggered,
        "count_successful_tool_call": valid,
        "schema_accuracy": f"{_ratio(valid, triggered):.2%}",
    }


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
