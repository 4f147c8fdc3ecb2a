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
    """Return the figures of a run, the fate of its expected calls, and the differences between its setups."""
    from trialbed_plugins.reporters._comparisons import comparison_tables

    return [*figure_tables(report), *attribution_tables(report), *comparison_tables(report)]


def _conclusion(report: Report, title: str = "") -> views.Table:
    return views.Table(title, notes=lead_sentences(report))


class TableReporter(Reporter):
    """Tables with a row for each setup. If brief, one screen with the result, a table, and the cause of most losses.

    The output is plain if the stream is not a terminal. Numbers are never cut.
    """

    def report(self, report: Report, stream: TextIO) -> None:
        if self.brief:
            models = report.run.config.models  # several models have rows above their setups
            result = headline(report) + (f" Model: {models[0]}." if len(models) == 1 else "")
            shown = screen_tables(report)
            medians = ", ".join(column for column in shown[0].columns if column in MEDIANS)
            labelled = f"{result} Medians: {medians}." if medians else result
            room = shutil.get_terminal_size((len(labelled), 0)).columns
            # The label does not get its own line on a screen. Docs and `--full` have it too.
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
        stream.write(views.markdown([_conclusion(report, run_title(report.run)), *run_tables(report)]))


class CsvReporter(Reporter):
    """One line per framework and score with mean, interval, median and denominator."""

    def report(self, report: Report, stream: TextIO) -> None:
        stream.write(views.csv_text(run_records(report)))


class JunitReporter(Reporter):
    """JUnit XML with a test for each trial, which fails if the query is not solved."""

    def report(self, report: Report, stream: TextIO) -> None:
        from trialbed_plugins.reporters._junit import run_suites

        stream.write(views.junit(run_suites(report), "bench run"))


class HtmlReporter(Reporter):
    """The tables as one page that works offline, for notebooks. Commands print the page of the run instead."""

    def report(self, report: Report, stream: TextIO) -> None:
        stream.write(views.html_page(run_title(report.run), [_conclusion(report), *run_tables(report)]))
