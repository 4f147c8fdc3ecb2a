"""A run as tests, one for each trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialbed.records import Query
from trialbed.report import Report, Summary, conclusions, trial_name
from trialbed.store import TrialRow
from trialbed.texts import number_were, one_line
from trialbed.views import TestCase, TestSuite

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
