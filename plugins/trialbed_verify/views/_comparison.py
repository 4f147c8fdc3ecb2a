"""A comparison as tables of text and as records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from trialbed.texts import number_of
from trialbed.views import UNKNOWN, Table, counts, estimate, number
from trialbed_verify.comparison import FIGURES, QUANTILES, Distribution, VendorComparison
from trialbed_verify.documents import as_document
from trialbed_verify.panel import PanelGate, reason_in_words
from trialbed_verify.views._panel import panel_records, panel_table

WORDS = {
    "total_tokens": "tokens",
    "completion_tokens": "tokens received",
    "ttft_ms": "TTFT, ms",
    "tps": "tokens/s",
    "duration_ms": "duration, ms",
    "trigger_rate": "answers with calls",
    "success_rate": "success",
    "schema_accuracy": "schema, per response",
}
"""Figures and the metrics of tests -> their names in tables."""

DIGITS = {"total_tokens": 1, "completion_tokens": 1, "ttft_ms": 1, "tps": 2, "duration_ms": 1}

COUNTS = {"cases": "cases", "tp": "TP", "fp": "FP", "fn": "FN", "tn": "TN"}
SIMILARITY = {"precision": "precision", "recall": "recall", "f1": "F1", "chance_f1": "F1 of chance", "kappa": "kappa"}
"""Attributes of ``Similarity`` -> the labels of their rows."""

SCOPES = ("answered", "delivered")
SIDES = ("baseline", "vendor")
CONCLUSIONS = {
    "different": "{vendor} differs from {baseline}",
    "equivalent": "{vendor} is equivalent to {baseline}",
    "inconclusive": "{vendor} is neither shown to equal {baseline} nor to differ",
}


def comparison_tables(
    comparisons: Sequence[VendorComparison], named: Callable[[PanelGate], str] | None = None
) -> list[Table]:
    """Return for each vendor the verdict, its rates and the baseline's, figures, and tests.

    Args:
        named: names a gate of the panel; None for the names that options take.
    """
    return [table for one in comparisons for table in _tables(one, named)]


def comparison_records(comparisons: Sequence[VendorComparison]) -> list[dict[str, Any]]:
    """Return one record per vendor and figure."""
    return [
        {"vendor": one.vendor.vendor, "baseline": one.baseline.vendor, **record}
        for one in comparisons
        for record in _records(one)
    ]


def _tables(found: VendorComparison, named: Callable[[PanelGate], str] | None) -> Iterator[Table]:
    vendor, baseline = found.vendor.vendor, found.baseline.vendor
    yield panel_table(found.panel, vendor, baseline, named)
    notes = [*_pairing_notes(found), *_decision_notes(found)]
    yield Table.of("Decisions", ("", *SCOPES), _similarity(found), notes)
    yield Table.of("Rates", ("", baseline, vendor), _rates(found), _failures(found))
    yield Table.of("Tokens and times", ("", baseline, vendor, "paired difference"), _figures(found))
    if found.tests:
        rows = [
            (WORDS[one.metric], one.method, str(one.cases), _p_value(one.p), _p_value(one.p_holm))
            for one in found.tests
        ]
        yield Table.of("Tests", ("", "method", "cases", "p", "p corrected (Holm)"), rows)


def _pairing_notes(found: VendorComparison) -> Iterator[str]:
    pairing, rows = found.pairing, found.k2.matched_success + found.k2.skipped_failures
    yield f"{number_of(pairing.cases, 'case')}, paired by {pairing.by}; {number_of(rows, 'pair')} of rows."
    left_out = pairing.only_baseline + pairing.only_vendor
    if left_out:
        yield f"Left out because only one file has them: {number_of(left_out, 'row')}."
    if pairing.asked_otherwise:
        yield f"Cases whose requests differ: {pairing.asked_otherwise}."
    yield from (
        f"Settings of {number_of(count, 'request')} differ: {text}." for text, count in pairing.settings.items()
    )
    yield from (f"{note}." for note in found.notes)


def _similarity(found: VendorComparison) -> Iterator[tuple[str, ...]]:
    scopes = [getattr(found.similarity, scope) for scope in SCOPES]
    for name, label in COUNTS.items():
        yield label, *(f"{getattr(one, name):g}" for one in scopes)
    for name, label in SIMILARITY.items():
        yield label, *(estimate(getattr(one, name)) for one in scopes)
    if found.stable_subset:
        stable = [getattr(found.stable_subset, scope) for scope in SCOPES]
        yield "F1, stable cases", *(f"{estimate(one.f1)} n={one.cases}" for one in stable)


def _decision_notes(found: VendorComparison) -> Iterator[str]:
    itself = found.self_consistency.baseline
    if itself is None:
        yield "The baseline has one trial per case, so its self-consistency is unknown."
    else:
        yield (
            f"The baseline compared with itself ({number_of(itself.trials, 'trial')}): F1 {estimate(itself.self_f1)}, "
            f"flip rate {estimate(itself.flip_rate)}, {itself.stable_cases} of {itself.cases} cases stable."
        )
    yield (
        "Decisions are whether tools are called, and nothing else. answered: cases that both answered. delivered: a "
        "failure counts as a missed call."
    )
    k2 = found.k2.tool_call_trigger_similarity
    yield (
        f"K2-style, of {number_of(found.k2.matched_success, 'pair')} without failures: TP {k2.tp}, FP {k2.fp}, "
        f"FN {k2.fn}, TN {k2.tn}, precision {k2.precision}, recall {k2.recall}, F1 {k2.f1}, "
        f"schema accuracy {found.k2.tool_call_schema_accuracy.schema_accuracy}."
    )


def _rates(found: VendorComparison) -> Iterator[tuple[str, ...]]:
    success, schema = ([getattr(both, side) for side in SIDES] for both in (found.success_rate, found.schema_accuracy))
    yield "success", *(estimate(one, with_n=True) for one in success)
    yield "schema, per response", *(estimate(one.per_response, with_n=True) for one in schema)
    yield "schema, per call", *(estimate(one.per_call, with_n=True) for one in schema)


def _failures(found: VendorComparison) -> Iterator[str]:
    for side in SIDES:
        name, outcomes = getattr(found, side).vendor, getattr(found.outcomes, side)
        for words, counted in (
            ("failed", outcomes.problems),
            ("ended otherwise", outcomes.other_finish_reasons),
            ("calls were wrong", getattr(found.schema_accuracy, side).reasons),
        ):
            if counted:
                yield f"{name} {words}: {counts(counted)}."


def _figures(found: VendorComparison) -> Iterator[tuple[str, ...]]:
    for figure in FIGURES:
        own, digits, label = found.figures[figure], DIGITS[figure], WORDS[figure]
        sides = (own.baseline, own.vendor)
        if not any(side.n for side in sides):
            yield label, UNKNOWN, UNKNOWN, UNKNOWN
            continue
        cells = [estimate(side.mean, digits) + _missing(side) for side in sides]
        yield f"{label}, mean", *cells, estimate(own.difference, digits)
        spread = ["/".join(number(getattr(side, name).value, digits) for name in QUANTILES) for side in sides]
        yield f"{label}, {'/'.join(QUANTILES)}", *spread, ""


def _missing(side: Distribution) -> str:
    return f", {side.missing} missing" if side.missing else ""


def _p_value(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "< 0.0001"


def _records(found: VendorComparison) -> Iterator[dict[str, Any]]:
    yield from panel_records(found.panel)
    for scope in SCOPES:
        for name in SIMILARITY:
            yield {"side": scope, "figure": name, **getattr(getattr(found.similarity, scope), name).as_json()}
    itself = found.self_consistency.baseline
    if itself is not None:
        yield {"side": "baseline", "figure": "self_f1", **itself.self_f1.as_json()}
        yield {"side": "baseline", "figure": "flip_rate", **itself.flip_rate.as_json()}
    for side in SIDES:
        yield {"side": side, "figure": "success_rate", **getattr(found.success_rate, side).as_json()}
        schema = getattr(found.schema_accuracy, side)
        for unit, accuracy in (("per_response", schema.per_response), ("per_call", schema.per_call)):
            if accuracy is not None:
                yield {"side": side, "figure": f"schema_accuracy_{unit}", **accuracy.as_json()}
        for figure in FIGURES:
            own = getattr(found.figures[figure], side)
            yield {"side": side, "figure": f"{figure}_mean", **own.mean.as_json()}
            for name in QUANTILES:
                yield {"side": side, "figure": f"{figure}_{name}", **as_document(getattr(own, name)), "n": own.n}


def conclusion(found: VendorComparison) -> str:
    """Return the verdict on a vendor in words, its meaning for callers, and the cases that would settle an open one."""
    panel = found.panel
    verdict = CONCLUSIONS[panel.finding].format(vendor=found.vendor.vendor, baseline=found.baseline.vendor)
    damage, apart, rest = reason_in_words(panel).partition("; ")
    if panel.needed:
        rest, apart = f"about {panel.needed:,} cases would settle it", "; "
    return f"{verdict}: {damage}{apart}{rest}."
