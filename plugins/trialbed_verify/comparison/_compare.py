"""Compares vendors with a baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from trialbed.statistics import CaseBootstrap, holm
from trialbed_verify.comparison._consistency import consistency, stable_subset
from trialbed_verify.comparison._decisions import agreement, confusion, decisions, outcomes, similarity
from trialbed_verify.comparison._figures import FIGURES, figure_comparison, schema_accuracy, success_rate
from trialbed_verify.comparison._pairing import Pair, Pairing, pair
from trialbed_verify.comparison._records import (
    BothScopes,
    BothSides,
    CallAccuracy,
    ComparedFile,
    CompareOptions,
    K2Figures,
    ServedModel,
    TriggerSimilarity,
    VendorComparison,
)
from trialbed_verify.comparison._results import Results, Trials
from trialbed_verify.comparison._significance import significance_tests
from trialbed_verify.panel import Conclusion, Panel, PanelOptions, judge, resample_verdict

TRIGGER = "tool_calls"


def compare(
    baseline: Results, vendors: Iterable[Results], options: CompareOptions | None = None
) -> list[VendorComparison]:
    """Compare each vendor with the baseline.

    p-values are corrected for all vendors and metrics together.

    Args:
        vendors: each is read when the one before is done with, if they are read as they are iterated over.

    Raises:
        UsageError: the requests or settings of two files differ and ``force`` is not set.
    """
    chosen = options or CompareOptions()
    comparisons: list[VendorComparison] = []
    for vendor in vendors:
        comparisons.append(_comparison(pair(baseline, vendor, force=chosen.force), chosen))
        # Before the next one is read.
        del vendor
    corrected = holm({(number, test.metric): test.p for number, one in enumerate(comparisons) for test in one.tests})
    return [
        replace(one, tests=tuple(replace(test, p_holm=corrected[number, test.metric]) for test in one.tests))
        for number, one in enumerate(comparisons)
    ]


def _comparison(pairing: Pairing, options: CompareOptions) -> VendorComparison:
    pairs = pairing.pairs
    ours, theirs = [one.baseline for one in pairs], [one.vendor for one in pairs]
    baseline, vendor = decisions(ours), decisions(theirs)
    bootstrap = CaseBootstrap(len(pairs), options.resamples)
    own_consistency = consistency(baseline, ours, bootstrap)
    return VendorComparison(
        k2=k2_figures(pairing),
        baseline=_compared_file(pairing.baseline),
        vendor=_compared_file(pairing.vendor),
        panel=judge_pairs(pairs, options.gate_margins),
        pairing=pairing.counts(forced=options.force),
        similarity=BothScopes(
            answered=similarity(agreement(baseline, vendor, delivered=False), bootstrap),
            delivered=similarity(agreement(baseline, vendor, delivered=True), bootstrap),
        ),
        self_consistency=BothSides(own_consistency, consistency(vendor, theirs, bootstrap)),
        stable_subset=stable_subset(baseline, vendor, bootstrap) if own_consistency else None,
        decisions=confusion(pairs),
        outcomes=BothSides(outcomes(ours), outcomes(theirs)),
        success_rate=BothSides(success_rate(ours), success_rate(theirs)),
        schema_accuracy=BothSides(schema_accuracy(ours), schema_accuracy(theirs)),
        figures={figure: figure_comparison(figure, pairs, bootstrap) for figure in FIGURES},
        tests=tuple(significance_tests(pairs, baseline, vendor)),
        served=BothSides(_served_models(ours), _served_models(theirs)),
        options=options,
        notes=(*pairing.baseline.notes, *pairing.vendor.notes),
    )


def judge_pairs(pairs: Sequence[Pair], margins: Mapping[str, float]) -> Panel:
    """Return the panel's verdict on the vendor of some pairs."""
    return judge(_measured(pairs), PanelOptions(margins))


def verdict_shares(
    baseline: Results, vendor: Results, sizes: Sequence[int]
) -> tuple[int, Mapping[int, Mapping[Conclusion, float]]]:
    """Return the cases that both have and, for numbers of cases drawn from them, the share of each verdict.

    Raises:
        UsageError: the requests or settings of the two differ.
    """
    pairs = pair(baseline, vendor).pairs
    return len(pairs), resample_verdict(_measured(pairs), sizes)


def _measured(pairs: Sequence[Pair]) -> list[tuple[list[Any], list[Any]]]:
    return [
        ([row.measured for row in one.baseline.values()], [row.measured for row in one.vendor.values()])
        for one in pairs
    ]


def _compared_file(side: Results) -> ComparedFile:
    return ComparedFile(str(side.source), side.vendor, side.model, len(side.rows))


def _served_models(trials: Sequence[Trials]) -> tuple[ServedModel, ...]:
    counted = Counter(row.served for rows in trials for row in rows.values() if any(row.served))
    return tuple(ServedModel(*served, rows=count) for served, count in counted.most_common())


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
