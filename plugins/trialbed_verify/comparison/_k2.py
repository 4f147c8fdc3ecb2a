"""The figures of K2-style comparisons, under their names and by their rules."""

from __future__ import annotations

from collections import Counter
from typing import Any

from trialbed_verify.comparison._pairing import Pairing

TRIGGER = "tool_calls"


def k2_style(pairing: Pairing) -> dict[str, Any]:
    """What a K2-style comparison says of two files.

    Pairs of which a row failed are left out; a finish reason other than ``tool_calls`` is a "no"; a ratio without a
    denominator is 0; four decimals. Pairs are found by content, and only rows of equal trial numbers are paired.
    """
    rows = [rows for pair in pairing.pairs for rows in pair.rows()]
    both = [(ours, theirs) for ours, theirs in rows if ours.success and theirs.success]
    told = Counter((ours.finish_reason == TRIGGER, theirs.finish_reason == TRIGGER) for ours, theirs in both)
    triggered = [theirs for _, theirs in both if theirs.finish_reason == TRIGGER]
    return {
        "total_baseline": len(pairing.baseline.rows),
        "total_vendor": len(pairing.vendor.rows),
        "common_indices": len(rows),
        "matched_success": len(both),
        "skipped_failures": len(rows) - len(both),
        "tool_call_trigger_similarity": trigger_similarity(
            told[True, True], told[False, True], told[True, False], told[False, False]
        ),
        "tool_call_schema_accuracy": schema_accuracy(len(triggered), sum(row.valid is True for row in triggered)),
    }


def trigger_similarity(tp: int, fp: int, fn: int, tn: int) -> dict[str, Any]:
    """Counts, precision, recall and F1; the baseline's decision is taken for the truth."""
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
    """Responses that ended with tool calls, and those of them whose calls all fit their schemas."""
    return {
        "count_finish_reason_tool_calls": triggered,
        "count_successful_tool_call": valid,
        "schema_accuracy": f"{_ratio(valid, triggered):.2%}",
    }


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
