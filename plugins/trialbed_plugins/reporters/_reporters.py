"""The reporters, one per format."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any, TextIO

from trialbed import views
from trialbed.contracts import Reporter
from trialbed.records import Query
from trialbed.report import Report, Summary, conclusions, headline, lead_sentences, main_loss, run_title, trial_name
from trialbed.store import TrialRow
from trialbed.texts import number_were, one_line
from trialbed.views import TestCase, TestSuite
from trialbed_plugins.reporters._tables import MEDIANS, figure_tables, run_records, screen_tables

MOST = 80
"""Most characters of a task in a test's name."""


def run_suites(report: Report) -> list[TestSuite]:
    """Return the trials of a run as tests, in a suite for each framework."""
    found = {one.framework: str(one) for one in conclusions(report)}
    return [_suite(summary, found[summary.framework], report.queries) for summary in report.frameworks]


def _suite(summary: Summary, conclusion: str, queries: Mapping[int | str, Query]) -> TestSuite:
    """Return the trials of a framework as tests.

    Failed trials and unsolved queries (Unsolved or Unsure) are failures. Unmeasured trials and missing verdicts are
    errors. A void row is a single error.
    """
    run, config = summary.run, summary.run.config
    properties = {
        "conclusion": conclusion,
        "run_id": run.run_id,
        "status": run.status,
        "test_set": config.test_set,
        "model": config.cell(summary.framework).model,
        "evaluator_model": config.judge,
        "framework_version": summary.info.version if summary.info else None,
        "trialbed_version": config.trialbed_version,
    }
    known = {key: str(value) for key, value in properties.items() if value is not None}
    return TestSuite(summary.framework, list(_cases(summary, queries)), known)


def _cases(summary: Summary, queries: Mapping[int | str, Query]) -> Iterator[TestCase]:
    classname = f"{summary.run.config.test_set}.{summary.framework}"
    if void := summary.integrity.void:
        yield TestCase(classname, "row is void", outcome="error", kind="void", message=void)
        return
    for trial in summary.trials:
        name = trial_name(summary.framework, trial.query_id)
        if summary.run.config.repeat > 1:
            name += f"/{trial.repeat}"
        text = one_line(queries[trial.query_id].text, MOST) if trial.query_id in queries else ""
        yield TestCase(classname, f"{name}: {text}" if text else name, float(trial["wall_time"]), **_outcome(trial))
    tried = sum(1 for trial in summary.trials if trial.status == "not measured")
    never = summary.counts.not_measured - tried
    if never > 0:
        message = f"{number_were(never, 'trial')} not begun"
        yield TestCase(classname, "trials not begun", outcome="error", kind="not begun", message=message)


def _outcome(trial: TrialRow) -> dict[str, Any]:
    failure = trial.failure
    if failure is not None:
        message = failure.message.partition("\n")[0]
        outcome = "failure" if trial.status == "failed" else "error"
        return {"outcome": outcome, "kind": failure.kind, "message": message, "text": failure.message}
    verdict, reason = trial.verdict, trial.reason
    if verdict in ("Unsolved", "Unsure"):
        return {"outcome": "failure", "kind": verdict, "message": reason or verdict, "text": reason}
    if verdict == "Error":
        return {"outcome": "error", "kind": "judge", "message": reason or "there is no verdict", "text": reason}
    return {}


def run_tables(report: Report) -> list[views.Table]:
    """Return the figures of a run, the fate of its expected calls, and the differences between its setups."""
    from trialbed_plugins.reporters._comparisons import attribution_tables, comparison_tables  # a screen has neither

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
        stream.write(views.junit(run_suites(report), "bench run"))


class HtmlReporter(Reporter):
    """The tables as one page that works offline, for notebooks. Commands print the page of the run instead."""

    def report(self, report: Report, stream: TextIO) -> None:
        stream.write(views.html_page(run_title(report.run), [_conclusion(report), *run_tables(report)]))
