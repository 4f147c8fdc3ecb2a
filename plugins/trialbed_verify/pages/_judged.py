"""The pages about vendors: their answers, their comparisons with baselines, and their ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import starmap
from typing import Any, NamedTuple, TypeAlias

from trialbed.views import UNKNOWN, Disclosures, Folded, IntervalPlot, PlotPoint, Table, TableRow
from trialbed_verify.comparison import Results, VendorComparison, read_one
from trialbed_verify.pages._vendors import read_vendors, vendor_parts
from trialbed_verify.panel import breaking_in_thousand
from trialbed_verify.publication import comparison_parts, different_first
from trialbed_verify.ranking import (
    ModelComparison,
    Placing,
    VerifiedRows,
    VerifiedVendors,
    compare_and_rank,
    marked_baselines,
)
from trialbed_verify.vendor_rows import VendorRows
from trialbed_verify.views import conclusion, rank_sentence, ranking_tables

Part: TypeAlias = Table | IntervalPlot | Disclosures | Folded

COLUMNS = ("vendor", "verdict", "answers in 1,000 that break a caller", "differs in", "cases")

ANSWERS = "All figures of the answers: rates, times, tokens, failures, findings and files"

UNMARKED = "No vendor of {model} is marked as the baseline; the one of the first file is taken: {vendor}."


class _Judged(NamedTuple):
    """The comparisons and ranks of files, and notes on how their baselines were chosen."""

    found: VerifiedVendors
    notes: Sequence[str]


def verification_parts(rows: Sequence[VendorRows]) -> list[Any]:
    """Return all about the vendors of one verification: how they differ, their ranks, and, folded, their answers."""
    vendors = read_vendors(rows)
    lead, *parts = vendor_parts(vendors)
    if len(rows) == 1:
        return [lead, *parts]
    judged = _compare_and_rank([one.results for one in vendors])
    return [*_comparisons(judged), *_ranks(judged), lead, Folded(ANSWERS, parts)]


def answers(rows: Sequence[VendorRows]) -> list[Any]:
    """Return the figures and the answers of each vendor."""
    return list(vendor_parts(read_vendors(rows)))


def comparisons(rows: Sequence[VendorRows]) -> list[Part]:
    """Return the verdicts, and for each vendor every gate with its interval and its examples."""
    return list(_comparisons(_compare_and_rank([read_one(own, None) for own in rows])))


def ranks(rows: Sequence[VendorRows]) -> list[Part]:
    """Return the ranks, with their intervals."""
    return list(_ranks(_compare_and_rank([read_one(own, None) for own in rows])))


def _comparisons(judged: _Judged) -> Iterator[Part]:
    found = different_first(judged.found.comparisons)
    yield Table("", notes=list(map(conclusion, found)))
    yield from (Table("How they were compared", notes=judged.notes),) if judged.notes else ()
    yield from map(_verdicts, judged.found.models)
    for one in found:
        yield from comparison_parts(one)


def _verdicts(found: ModelComparison) -> Table:
    title = f"{found.model} compared with {found.baseline}" if found.baseline else f"{found.model}: not compared"
    return Table(
        title, COLUMNS, list(map(_verdict, different_first(found.comparisons))), [f"{note}." for note in found.notes]
    )


def _verdict(one: VendorComparison) -> TableRow:
    panel = one.panel
    breaking = panel.at("any")
    share = UNKNOWN if breaking is None or breaking.excess is None else breaking_in_thousand(breaking.excess)
    cells = (panel.finding, share, panel.different_subjects or "nothing shown", str(one.pairing.cases))
    return TableRow(one.vendor.vendor, cells, alarming=panel.finding == "different")


def _ranks(judged: _Judged) -> Iterator[Part]:
    ranking = judged.found.ranking
    notes = [*judged.notes, *(f"{note}." for note in judged.found.notes)]
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


def _compare_and_rank(results: Sequence[Results]) -> _Judged:
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
    return _Judged(compare_and_rank(found), notes)
