"""The reporters, one per format."""

from __future__ import annotations

import shutil
from textwrap import wrap
from typing import TextIO

from trialbed import views
from trialbed.contracts import Reporter
from trialbed.report import Report, headline, lead_sentences, main_loss, run_title
from trialbed_plugins.reporters._attribution import attribution_tables
from trialbed_plugins.reporters._tables import MEDIANS, figure_tables, run_records, screen_tables


def run_tables(report: Report) -> list[views.Table]:
    """The figures of a run, what became of its expected calls, and how its setups differ."""
    from trialbed_plugins.reporters._comparisons import comparison_tables

    return [*figure_tables(report), *attribution_tables(report), *comparison_tables(report)]


def _conclusion(report: Report, title: str = "") -> views.Table:
    return views.Table(title, notes=lead_sentences(report))


class TableReporter(Reporter):
    """A row for each setup; if brief, one screen: the result, a table, and the cause of most losses.

    Plain if the stream is not a terminal; no number is ever cut.
    """

    def report(self, report: Report, stream: TextIO) -> None:
        """Write the tables of one run."""
        if self.brief:
            models = report.run.config.models  # of several, each is a row above its setups
            result = headline(report) + (f" Model: {models[0]}." if len(models) == 1 else "")
            shown = screen_tables(report)
            medians = ", ".join(column for column in shown[0].columns if column in MEDIANS)
            labelled = f"{result} Medians: {medians}." if medians else result
            room = shutil.get_terminal_size((len(labelled), 0)).columns
            # A screen has no line to spare for the label alone: docs and `--full` say it too.
            if len(wrap(labelled, room)) == len(wrap(result, room)):
                result = labelled
            tables = [views.Table("", notes=[result]), *shown]
            if loss := main_loss(report):
                tables.append(views.Table("", notes=[f"Most losses: {loss}"]))
            views.print_tables(tables, stream, ruled=False)
            return
        tables = [_conclusion(report), *run_tables(report)]
        if not self.explained:
            command = f"bench show {report.run.run_id} --legend"
            tables.append(views.Table("", notes=[f"What each figure means: {command}"]))
        views.print_tables(tables, stream, explained=self.explained)


class MarkdownReporter(Reporter):
    """The table and its notes as Markdown."""

    def report(self, report: Report, stream: TextIO) -> None:
        """Write a section of level 2 with its subject as the title."""
        stream.write(views.markdown([_conclusion(report, run_title(report.run)), *run_tables(report)]))


class CsvReporter(Reporter):
    """One line per framework and score: mean, interval, median and denominator."""

    def report(self, report: Report, stream: TextIO) -> None:
        """Write a head and the lines."""
        stream.write(views.csv_text(run_records(report)))


class JunitReporter(Reporter):
    """JUnit's XML with a test for each trial, which fails where the query is not solved."""

    def report(self, report: Report, stream: TextIO) -> None:
        """Write a whole document."""
        from trialbed_plugins.reporters._junit import run_suites

        stream.write(views.junit(run_suites(report), "bench run"))


class HtmlReporter(Reporter):
    """The tables as one page that needs no network, for notebooks; commands print the page of the run."""

    def report(self, report: Report, stream: TextIO) -> None:
        """Write a whole page."""
        stream.write(views.html_page(run_title(report.run), [_conclusion(report), *run_tables(report)]))
