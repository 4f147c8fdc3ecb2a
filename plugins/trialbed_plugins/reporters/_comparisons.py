"""The tables below a run's figures that compare its setups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from trialbed.records import NATIVE, PROFILE, score_title
from trialbed.report import Report
from trialbed.report.comparison import (
    FrameworkComparison,
    difference_text,
    finding_cells,
    rank_notes,
    verdict_notes,
)
from trialbed.views import Table, TableRow

Compared = tuple[str, FrameworkComparison]
"""A framework with one of its comparisons."""

COLUMNS = ("", "difference", "changed", "p", "verdict")


def comparison_tables(report: Report) -> list[Table]:
    """Return a table of frameworks against each baseline, and one of native profiles against controlled ones."""
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
    """Return the possible ranks of each framework for each score."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for summary in report.frameworks:
        for score, rank in (summary.ranks or {}).items():
            found.setdefault(score, {})[summary.framework] = rank
    return found


def _untold(table: Table, earlier: Sequence[Table]) -> list[str]:
    """Return the legend of a table without the notes of earlier tables."""
    told = {note for other in earlier for note in other.legend}
    return [note for note in table.legend if note not in told]


def _table(kind: str, found: Sequence[Compared]) -> Table:
    title = f"compared with {found[0][1].against}" if kind == "reference" else "defaults compared with conductor only"
    scores = dict.fromkeys(score for _, one in found for score in one.scores)
    rows = [row for score in scores for row in _rows(kind, score, found)]
    table = Table(title, COLUMNS, rows, legend=list(_legend(kind, found)))
    # A verdict could not be read in a different block than its difference.
    return replace(table, narrow=table.without("changed"))


def _rows(kind: str, score: str, found: Sequence[Compared]) -> Iterator[TableRow]:
    """Yield a row with the score's name, then a row for each framework."""
    yield TableRow(score_title(score), ("",) * (len(COLUMNS) - 1))
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
        "difference: the mean over the tasks that both have, with its 95 % interval; a failed trial is 0. "
        "changed: tasks on which the two differ."
    )
    if kind == "profile":
        yield "A difference is what the framework's own defaults bring (+) or cost (-)."
    yield from verdict_notes(findings)
