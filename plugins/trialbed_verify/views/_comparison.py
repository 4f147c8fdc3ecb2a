"""Comparisons as tables of text and as records: one of a vendor with its panel, and all of a verification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from trialbed.texts import group_by_key, number_of
from trialbed.views import UNKNOWN, Table, TableRow, TestCase, counts, estimate, number
from trialbed_verify.comparison import FIGURES, QUANTILES, VendorComparison
from trialbed_verify.documents import as_document
from trialbed_verify.panel import GateExample, GateResult, Mean, Panel, PanelGate, reason_in_words
from trialbed_verify.ranking import ModelComparison, VerifiedVendors
from trialbed_verify.tables import junit_case
from trialbed_verify.views._ranking import ranking_tables

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
    "not decided by one trial": "one trial does not decide between {vendor} and {baseline}",
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
        cells = [estimate(side.mean, digits) + f", {side.missing} missing" * bool(side.missing) for side in sides]
        yield f"{label}, mean", *cells, estimate(own.difference, digits)
        spread = ["/".join(number(getattr(side, name).value, digits) for name in QUANTILES) for side in sides]
        yield f"{label}, {'/'.join(QUANTILES)}", *spread, ""


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
    verdict = CONCLUSIONS[panel.verdict].format(vendor=found.vendor.vendor, baseline=found.baseline.vendor)
    damage, apart, rest = reason_in_words(panel).partition("; ")
    if panel.needed:
        rest, apart = f"about {panel.needed:,} cases would settle it", "; "
    return f"{verdict}: {damage}{apart}{rest}."


PANEL_COLUMNS = ("gate", "finding", "baseline", "vendor", "excess", "margin", "distance", "margin", "p (Holm)")

PANEL_DIGITS = 3

FLOOR = 1.5
"""Deals as unusual as the answers, with the answers themselves, below which there is none but them."""


def panel_table(panel: Panel, vendor: str, baseline: str, named: Callable[[PanelGate], str] | None = None) -> Table:
    """Return the verdict and every gate that applies, with an example of each difference in the notes.

    Gates whose figures are all the same share a row.

    Args:
        named: names a gate; None for the names that options take.
    """
    rows = _merge_alike(
        TableRow(
            named(one.gate) if named else one.gate.label,
            tuple(_cells(one, panel.deals)),
            alarming=one.finding == "different",
        )
        for one in panel.applicable
    )
    title = f"{vendor} compared with {baseline}: {panel.verdict}"
    notes = list(_panel_notes(panel, vendor, baseline))
    brief = [TableRow(row.label, (row.cells[0], *row.cells[3:5]), row.alarming) for row in rows]
    narrow = Table(title, ["gate", "finding", "excess", "margin"], brief, notes, legend=[LEGEND])
    return Table(title, list(PANEL_COLUMNS), rows, notes, narrow=narrow, legend=[LEGEND])


def _merge_alike(rows: Iterable[TableRow]) -> list[TableRow]:
    """Return one row for all gates with the same figures, as most have where nothing differs."""
    labels = group_by_key(((row.cells, row.alarming), row.label) for row in rows)
    return [TableRow(", ".join(names), cells, alarming) for (cells, alarming), names in labels.items()]


def panel_records(panel: Panel) -> Iterator[dict[str, Any]]:
    """Yield one record per gate and figure."""
    for one in panel.gates:
        for name, mean in (("excess", one.excess), ("distance", one.distance)):
            if mean is not None:
                yield {"side": one.finding, "figure": f"panel_{one.gate.name}_{name}", **mean.as_json()}


def _cells(one: GateResult, deals: int) -> Iterator[str]:
    yield one.finding
    yield number(one.baseline, PANEL_DIGITS)
    yield number(one.vendor, PANEL_DIGITS)
    for mean, margin in ((one.excess, one.gate.margin), (one.distance, one.gate.distance_margin)):
        yield _interval(mean)
        yield UNKNOWN if margin is None else f"{margin:g}"
    yield _panel_p_value(one.p_holm, one.p, deals)


def _panel_p_value(value: float, single: float, deals: int) -> str:
    """Return a p-value; as the most that it can be where no deal was as unusual as the answers."""
    least = single * (deals + 1) < FLOOR
    return f"≤ {value:.2g}" if least else f"{value:.3f}"


def _interval(mean: Mean | None) -> str:
    return UNKNOWN if mean is None else f"{mean.value:+.3f} [{mean.low:.3f}, {mean.high:.3f}]"


def brief_reasons(panel: Panel) -> Iterator[str]:
    """Yield in words the reasons of the verdict that its conclusion does not give."""
    rest = reason_in_words(panel).partition("; ")[2] if panel.needed else ""
    if rest and not rest.startswith("about "):
        yield _as_sentence(rest)
    yield from map(_as_sentence, panel.remarks)


def _as_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _panel_notes(panel: Panel, vendor: str, baseline: str) -> Iterator[str]:
    yield from map(_as_sentence, (panel.reason, *panel.remarks))
    for one in panel.gates:
        if one.finding == "different":
            yield f"{one.gate.label}: {one.gate.meaning} differ; {one.reason}."
            yield from _example(one.example, vendor, baseline)
    ours, theirs = panel.trials
    whole = UNKNOWN if panel.whole is None else f"{panel.whole:.2g}"
    yield (
        f"{panel.cases} cases with {ours:.3g} and {theirs:.3g} trials that count; all gates "
        f"together: p = {whole} (up to {panel.deals:,} permutations of trials within cases)."
    )


LEGEND = (
    "baseline: how far its trials are from each other; vendor: how far the vendor's are from them; for faults, the "
    "share of each. excess: the second less the first; distance: between both distributions. Both are 0 for an "
    "identical vendor, whatever the model's own spread. [low, high]: one-sided 95 % bounds, which decide. breaking: "
    "answers that would break a caller, and that the other trials of the baseline never give. At "
    "most so many of 1,000 answers break a caller: the upper bound of its excess, and beyond it those that are too "
    "rare to have been seen."
)


def _example(example: GateExample | None, vendor: str, baseline: str) -> Iterator[str]:
    if example is None:
        return
    where = f"line {example.line}" if example.line else "for example"
    yield f"  {where}, {baseline}: {example.baseline}"
    yield f"  {where}, {vendor}: {example.vendor}"


COLUMNS = ("vendor", "verdict", "F1, as delivered", "F1, where both answered", "cases")


def verified_tables(found: VerifiedVendors) -> list[Table]:
    """Return a table of comparisons for each model, and those of the ranking."""
    tables = [Table.of(one.title, COLUMNS, map(_row, one.comparisons), _verified_notes(one)) for one in found.models]
    return tables + (ranking_tables(found.ranking, verdicts=False) if found.ranking else [])


def _row(one: VendorComparison) -> tuple[str, ...]:
    return (
        one.vendor.vendor,
        one.panel.verdict,
        estimate(one.similarity.delivered.f1),
        estimate(one.similarity.answered.f1),
        str(one.pairing.cases),
    )


def _verified_notes(found: ModelComparison) -> Iterator[str]:
    for reason in dict.fromkeys(one.panel.reason for one in found.comparisons):
        vendors = [one.vendor.vendor for one in found.comparisons if one.panel.reason == reason]
        yield f"{', '.join(vendors)}: {reason}."
    for one in found.comparisons:
        vendor, pairing = one.vendor.vendor, one.pairing
        left_out = pairing.only_baseline + pairing.only_vendor
        if left_out:
            verb = "is" if left_out == 1 else "are"
            yield f"{vendor}: {number_of(left_out, 'row')} {verb} left out because only one file has them."
        yield from (
            f"{vendor}: settings of {number_of(count, 'request')} differ: {text}."
            for text, count in pairing.settings.items()
        )
    yield from (f"{note}." for note in found.notes)


def comparison_tests(found: VendorComparison) -> Iterator[TestCase]:
    """Yield a test per gate of the panel that applies, which fails where the vendor differs, and one of the verdict."""
    name = f"{found.vendor.vendor} against {found.baseline.vendor}"
    for one in found.panel.applicable:
        message = f"{one.gate.meaning}: {one.reason}" if one.finding == "different" else ""
        yield junit_case(name, one.gate.label, "different", message)
    is_different = found.panel.finding == "different"
    yield junit_case(name, "verdict", "different", found.panel.reason if is_different else "")
