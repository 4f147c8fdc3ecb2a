"""The pages about vendors: their answers, their comparisons with baselines, and their ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import starmap
from typing import Any, TypeAlias

from trialbed.views import UNKNOWN, Disclosures, Folded, IntervalPlot, PlotPoint, Table, TableRow
from trialbed_verify.comparison import Results, VendorComparison, read_one
from trialbed_verify.pages._sources import differences
from trialbed_verify.pages._vendors import read_vendors, vendor_parts
from trialbed_verify.panel import GateResult, Mean, Panel, PanelGate, breaking_in_thousand, gate_meaning
from trialbed_verify.ranking import (
    ModelComparison,
    Placing,
    VerifiedRows,
    VerifiedVendors,
    compare_and_rank,
    marked_baselines,
)
from trialbed_verify.vendor_rows import VendorRows
from trialbed_verify.views import brief_reasons, comparison_tables, conclusion, rank_sentence, ranking_tables

Part: TypeAlias = Table | IntervalPlot | Disclosures | Folded

COLUMNS = ("vendor", "verdict", "answers in 1,000 that break a caller", "differs in", "cases")

ANSWERS = "All figures of the answers: rates, times, tokens, failures, findings and files"

LEAST = 3
"""Gates that are drawn at least."""

UNMARKED = "No vendor of {model} is marked as the baseline; the one of the first file is taken: {vendor}."


def verification_parts(rows: Sequence[VendorRows], found: VerifiedVendors | None) -> list[Any]:
    """Return all about the vendors of one verification: how they differ, their ranks, and, folded, their answers.

    Args:
        found: their comparisons and ranks; None if there is nothing to compare.
    """
    lead, *parts = vendor_parts(read_vendors([own for own in rows if next(iter(own), None)]))
    if found is None or len(rows) == 1:
        return [lead, *parts]
    return [*_comparisons(found), *_ranks(found), lead, Folded(ANSWERS, parts)]


def comparison_page(found: Sequence[VendorComparison]) -> list[Part]:
    """Return the conclusion on each vendor, and every gate with its interval and its examples."""
    ordered = different_first(found)
    return [
        Table("", notes=list(map(conclusion, ordered))),
        *(part for one in ordered for part in comparison_parts(one)),
    ]


def answers(rows: Sequence[VendorRows]) -> list[Any]:
    """Return the figures and the answers of each vendor."""
    return list(vendor_parts(read_vendors(rows)))


def comparisons(rows: Sequence[VendorRows]) -> list[Part]:
    """Return the verdicts, and for each vendor every gate with its interval and its examples."""
    return list(_comparisons(*_compare_and_rank([read_one(own, None) for own in rows])))


def ranks(rows: Sequence[VendorRows]) -> list[Part]:
    """Return the ranks, with their intervals."""
    return list(_ranks(*_compare_and_rank([read_one(own, None) for own in rows])))


def _comparisons(found: VerifiedVendors, notes: Sequence[str] = ()) -> Iterator[Part]:
    """Yield the parts about comparisons; the notes say how their baselines were chosen."""
    lead, *parts = comparison_page(found.comparisons)
    yield lead
    if notes:
        yield Table("How they were compared", notes=notes)
    yield from map(_verdicts, found.models)
    yield from parts


def _verdicts(found: ModelComparison) -> Table:
    return Table(
        found.title,
        COLUMNS,
        list(map(_verdict, different_first(found.comparisons))),
        [f"{note}." for note in found.notes],
    )


def _verdict(one: VendorComparison) -> TableRow:
    panel = one.panel
    breaking = panel.at("any")
    share = UNKNOWN if breaking is None or breaking.excess is None else breaking_in_thousand(breaking.excess)
    cells = (panel.finding, share, panel.different_subjects or "nothing shown", str(one.pairing.cases))
    return TableRow(one.vendor.vendor, cells, alarming=panel.finding == "different")


def _ranks(found: VerifiedVendors, notes: Sequence[str] = ()) -> Iterator[Part]:
    ranking = found.ranking
    notes = [*notes, *(f"{note}." for note in found.notes)]
    if ranking is not None:
        yield Table("", notes=list(starmap(rank_sentence, ranking.models.items())))
    if notes:
        yield Table("How they were ranked", notes=notes)
    if ranking is None:
        return
    for model, standings in ranking.models.items():
        points = [_point(row) for row in standings.ranked if row.rank_low is not None]
        # One alone, or several of which each may be at any rank, have no order to draw.
        if len({(point.low, point.high) for point in points}) > 1:
            worst = max(point.high or 1 for point in points)
            title = f"{model}: ranks, with their 95 % intervals"
            yield IntervalPlot(title, points, limits=(0.5, worst + 0.5), whole=True)
    yield from ranking_tables(ranking, reasons=False, verdicts=False)


def _point(row: Placing) -> PlotPoint:
    ends = "" if row.rank_low == row.rank_high else f" [{row.rank_low}, {row.rank_high}]"
    text = f"{row.rank}{' tie' * bool(row.tie)}{ends}"
    return PlotPoint(row.vendor.vendor, row.rank or 0, row.rank_low, row.rank_high, text)


def _compare_and_rank(results: Sequence[Results]) -> tuple[VerifiedVendors, list[str]]:
    found, notes = [], []
    marked = marked_baselines(results)
    for model in dict.fromkeys(one.model for one in results):
        vendors = [one for one in results if one.model == model]
        baseline = next((one for one in vendors if one.vendor in marked), None)
        if baseline is None:
            baseline = vendors[0]
            notes.append(UNMARKED.format(model=model, vendor=baseline.vendor))
        found += [
            VerifiedRows(model or "a model", one.vendor, one.source, is_baseline=one is baseline) for one in vendors
        ]
    return compare_and_rank(found), notes


def comparison_parts(found: VendorComparison) -> Iterator[Part]:
    """Yield why a vendor is judged as it is: in words, as a plot and with answers; and below a line all its figures."""
    vendor = found.vendor.vendor
    panel, *others = comparison_tables([found], gate_meaning)
    gates = [one for one in found.panel.gates if one.excess]
    shown = _telling(gates)
    within = ", ".join(one.gate.meaning for one in gates if one not in shown)
    rest = [f"Shown to lie within the margin, and not drawn: {within}."] if within else []
    yield Table(panel.title, notes=[*_off(found.panel), *brief_reasons(found.panel), *rest])
    points = [_gate_point(one.gate, one.excess) for one in shown if one.excess]
    if points:
        title = f"How far {vendor} is beyond the baseline's own spread, in margins: -1 to 1 is allowed"
        yield IntervalPlot(title, points, zero=0.0, marks=(-1.0, 1.0))
    if (examples := differences(found)) is not None:
        yield examples
    table = replace(panel, title="Gates", notes=panel.notes[-1:])
    yield Folded(f"All figures of {vendor}: gates, decisions, rates, tokens, times and tests", [table, *others])


def different_first(comparisons: Sequence[VendorComparison]) -> list[VendorComparison]:
    """Return comparisons, those that show a difference before the others."""
    return sorted(comparisons, key=lambda one: one.panel.finding != "different")


def _off(panel: Panel) -> Iterator[str]:
    """Yield how far which subjects of a vendor that differs are off, and which are not settled, the farthest first."""
    if panel.finding != "different":
        return
    farthest = sorted(panel.gates, key=_reach, reverse=True)
    beyond = ", ".join(_off_by(one) for one in farthest if one.finding == "different")
    yield f"Shown to lie beyond the margin (figures in margins): {beyond}."
    if unsettled := ", ".join(one.gate.meaning for one in farthest if one.finding == "inconclusive"):
        yield f"Not settled, the farthest first: {unsettled}."


def _off_by(one: GateResult) -> str:
    gate, excess = one.gate, one.excess
    if excess is None:
        return gate.meaning
    if one.finding == "different" and not excess.is_beyond(gate.margin, directed=gate.is_directed):
        return f"{gate.meaning} (by their distribution)"
    return f"{gate.meaning} {_in_margins(excess, gate.margin)}"


def _telling(gates: Sequence[GateResult]) -> list[GateResult]:
    """Return the gates that are not shown to lie within the margin, and as many others as make a plot, in their order.

    Of the others, those that come nearest to the margin.
    """
    unsettled = sum(one.finding != "equivalent" for one in gates)
    chosen = sorted(gates, key=lambda one: (one.finding == "equivalent", -_reach(one)))[: max(LEAST, unsettled)]
    return [one for one in gates if one in chosen]


def _reach(one: GateResult) -> float:
    """Return how far the interval of a gate goes, in margins."""
    return max(abs(one.excess.low), abs(one.excess.high)) / one.gate.margin if one.excess else 0.0


def _gate_point(gate: PanelGate, excess: Mean) -> PlotPoint:
    value, low, high = (end / gate.margin for end in (excess.value, excess.low, excess.high))
    return PlotPoint(gate.meaning, value, low, high, _in_margins(excess, gate.margin))


def _in_margins(found: Mean, margin: float) -> str:
    value, low, high = (end / margin for end in (found.value, found.low, found.high))
    return f"{value:+.2f} [{low:.2f}, {high:.2f}]"
