"""The tables below a run's figures that compare its set-ups: with a baseline, and by numbers of tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from trialbed.attribution import LOSERS
from trialbed.records import NATIVE, PROFILE, shown_name
from trialbed.report import Report, Summary
from trialbed.report.comparison import (
    FrameworkComparison,
    difference_text,
    finding_cells,
    rank_notes,
    verdict_notes,
)
from trialbed.texts import number_of
from trialbed.views import Table, TableRow, number

Compared = tuple[str, FrameworkComparison]
"""A framework, and one of its comparisons."""

COLUMNS = ("", "difference", "changed", "p", "verdict")

OFFER_SCORES = ("sopr_score", "api_call_score", "gold_offered")


def comparison_tables(report: Report) -> list[Table]:
    """A table of frameworks against each baseline, and one of native profiles against controlled ones."""
    found = [(summary.framework, one) for summary in report.frameworks for one in summary.comparisons]
    groups: dict[tuple[str, str], list[Compared]] = {}
    for item in sorted(found, key=lambda item: item[1].kind == "profile"):
        kind = item[1].kind
        groups.setdefault((kind, item[1].against if kind == "reference" else ""), []).append(item)
    tables = [_table(kind, own) for (kind, _), own in groups.items() if any(one.scores for _, one in own)]
    if tables:
        tables[0] = replace(tables[0], notes=[*tables[0].notes, *rank_notes(_ranks(report))])
    return [replace(table, legend=_untold(table, tables[:place])) for place, table in enumerate(tables)]


def _ranks(report: Report) -> dict[str, dict[str, tuple[int, int]]]:
    """Score -> framework -> the ranks that the comparisons leave open."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for summary in report.frameworks:
        for score, rank in (summary.ranks or {}).items():
            found.setdefault(score, {})[summary.framework] = rank
    return found


def _untold(table: Table, earlier: Sequence[Table]) -> list[str]:
    """The legend of a table without the notes of earlier ones."""
    told = {note for other in earlier for note in other.legend}
    return [note for note in table.legend if note not in told]


def _table(kind: str, found: Sequence[Compared]) -> Table:
    title = f"compared with {found[0][1].against}" if kind == "reference" else "native compared with controlled"
    scores = dict.fromkeys(score for _, one in found for score in one.scores)
    rows = [row for score in scores for row in _rows(kind, score, found)]
    table = Table(title, COLUMNS, rows, legend=list(_legend(kind, found)))
    # A verdict in another block than its difference could not be read.
    return replace(table, narrow=table.without("changed"))


def _rows(kind: str, score: str, found: Sequence[Compared]) -> Iterator[TableRow]:
    """The name of a score, and below it a row for each framework."""
    yield TableRow(shown_name(score), ("",) * (len(COLUMNS) - 1))
    for framework, comparison in found:
        finding = comparison.scores.get(score)
        if finding is not None:
            changed = f"{len(finding.changed_queries)} of {finding.n}"
            yield TableRow(f"  {_label(kind, framework)}", (difference_text(finding), changed, *finding_cells(finding)))


def _label(kind: str, framework: str) -> str:
    return framework if kind == "reference" else framework.replace(f"{PROFILE}{NATIVE}", "", 1)


def _legend(kind: str, found: Sequence[Compared]) -> Iterator[str]:
    findings = [finding for _, one in found for finding in one.scores.values()]
    yield (
        "difference: the mean over the queries that both have, with its 95 % interval; a failed trial is 0. "
        "changed: queries on which the two differ."
    )
    if kind == "profile":
        yield "A difference is what the framework's own defaults bring (+) or cost (-)."
    yield from verdict_notes(findings)


def offer_tables(report: Report) -> list[Table]:
    """Score against the number of tools, framework by framework; none where all columns are offered as many."""
    if len({_tools(summary) for summary in report.frameworks}) < 2:
        return []
    columns = ["framework", "tools", *map(shown_name, OFFER_SCORES), *LOSERS]
    legend = (
        "tools: the most that were offered. selector to rig: expected calls that each lost, of all. "
        "selector: not offered; model: not called, with wrong arguments or without use of the result; "
        "framework: offered wrongly, not made, failed, or ended at a call that the model could have mended; "
        "rig: failed at the virtual API or in Trialbed.",
    )
    notes = list(_missing_offers(report.frameworks))
    return [Table.of("score against number of tools", columns, _offer_rows(report.frameworks), notes, legend=legend)]


def _offer_rows(summaries: Sequence[Summary]) -> Iterator[tuple[str, ...]]:
    names = list(dict.fromkeys(map(_name, summaries)))
    for summary in sorted(summaries, key=lambda item: (names.index(_name(item)), _tools(item))):
        void = bool(summary.integrity.void)
        lost = None if void else summary.attribution
        calls = lost.gold_calls if lost else 0
        found = [None if void else summary.scores.get(name) for name in OFFER_SCORES]
        scores = [number(score.value if score else None, 3) for score in found]
        by = lost.losers if lost else {}
        shares = [f"{by.get(name, 0)} {by.get(name, 0) / calls:.0%}" if calls else "-" for name in LOSERS]
        yield _name(summary), f"{_tools(summary):,}", *scores, *shares


def _name(summary: Summary) -> str:
    """The first column that differs from this one in the number of tools alone."""
    alike, cells = {"max_tools": _tools(summary), "label": summary.framework}, summary.run.config.cells
    own = summary.run.config.cell(summary.framework)
    return next(cell.label for cell in cells if cell.model_copy(update=alike) == own)


def _tools(summary: Summary) -> int:
    return summary.run.config.cell(summary.framework).max_tools


def _missing_offers(summaries: Sequence[Summary]) -> Iterator[str]:
    for summary in summaries:
        if missing := summary.counts.not_measured:
            tools, was = number_of(_tools(summary), "tool"), "was" if missing == 1 else "were"
            yield f"INCOMPLETE: {number_of(missing, 'trial')} of {_name(summary)} with {tools} {was} not measured."
