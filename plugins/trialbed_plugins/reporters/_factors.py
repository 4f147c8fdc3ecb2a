"""The effects of the factors of a run, as a table."""

from __future__ import annotations

from collections.abc import Iterator

from trialbed.records import shown_name
from trialbed.report import Report
from trialbed.report.comparison import Factor, difference_text, finding_cells, finding_notes
from trialbed.views import Table, TableRow, number

COLUMNS = ("", "mean", "difference", "p", "verdict")


def factor_tables(report: Report) -> list[Table]:
    """A row for each level of each factor, the first of which the others are compared with; none without factors."""
    effects = report.factors
    if effects is None or not effects.findings:
        return []
    rows = [row for factor in effects.factors for row in _rows(factor)]
    title = f"what matters for {shown_name(effects.score)}"
    legend = (
        "mean and difference: of a factor's level, over all columns that differ in nothing else, with the 95 % "
        "interval of the difference to the factor's first level.",
    )
    notes = [note for note in finding_notes(effects.findings) if note not in effects.sentences]
    return [Table(title, COLUMNS, rows, [*notes, *effects.sentences], legend=list(legend))]


def _rows(factor: Factor) -> Iterator[TableRow]:
    if not factor.findings:
        return
    yield TableRow(factor.name, ("",) * (len(COLUMNS) - 1))
    first = factor.findings[0]
    yield TableRow(f"  {first.baseline}", (number(first.baseline_mean, 2), "", "", ""))
    for finding in factor.findings:
        cells = number(finding.candidate_mean, 2), difference_text(finding), *finding_cells(finding)
        yield TableRow(f"  {finding.candidate}", cells)
