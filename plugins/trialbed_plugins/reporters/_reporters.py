"""The reporters, one per format."""

from __future__ import annotations

from typing import TextIO

from trialbed import views
from trialbed.contracts import Reporter
from trialbed.report import Report, conclusions, run_title
from trialbed_plugins.reporters._attribution import attribution_tables
from trialbed_plugins.reporters._comparisons import comparison_tables
from trialbed_plugins.reporters._factors import factor_tables
from trialbed_plugins.reporters._junit import run_suites
from trialbed_plugins.reporters._offers import offer_tables
from trialbed_plugins.reporters._tables import brief_table, run_plots, run_records, run_table


def _tables(report: Report) -> list[views.Table]:
    """The conclusions, the figures of a run, what became of its expected calls, and how its frameworks differ."""
    compared = [*factor_tables(report), *offer_tables(report), *comparison_tables(report)]
    return [_conclusion(report), run_table(report), *attribution_tables(report), *compared]


def _conclusion(report: Report, title: str = "") -> views.Table:
    return views.Table(title, notes=list(map(str, conclusions(report))))


class TableReporter(Reporter):
    """Figures as rows and frameworks as columns, as many side by side as the width holds, and notes below.

    Plain where the stream is not a terminal; no number is ever cut.
    """

    def report(self, report: Report, stream: TextIO) -> None:
        """Write the table of one run."""
        if self.brief:
            factors = [*factor_tables(report), *offer_tables(report)]
            views.print_tables([_conclusion(report), brief_table(report), *factors], stream)
            return
        tables = _tables(report)
        if not self.explained:
            command = f"bench show {report.run.run_id} --legend"
            tables.append(views.Table("", notes=[f"What each figure means: {command}"]))
        views.print_tables(tables, stream, explained=self.explained)


class MarkdownReporter(Reporter):
    """The table and its notes as Markdown."""

    def report(self, report: Report, stream: TextIO) -> None:
        """Write a section of level 2 with its subject as the title."""
        _, *tables = _tables(report)
        stream.write(views.markdown([_conclusion(report, run_title(report.run)), *tables]))


class CsvReporter(Reporter):
    """One line per framework and score: mean, interval, median and denominator."""

    def report(self, report: Report, stream: TextIO) -> None:
        """Write a head and the lines."""
        stream.write(views.csv_text(run_records(report)))


class JunitReporter(Reporter):
    """JUnit's XML with a test for each trial, which fails where the query is not solved."""

    def report(self, report: Report, stream: TextIO) -> None:
        """Write a whole document."""
        stream.write(views.junit(run_suites(report), "bench run"))


class HtmlReporter(Reporter):
    """The table and plots of the scores with their intervals as one page that needs no network."""

    def report(self, report: Report, stream: TextIO) -> None:
        """Write a whole page."""
        conclusion, *tables = _tables(report)
        stream.write(views.html_page(run_title(report.run), [conclusion, *run_plots(report), *tables]))
