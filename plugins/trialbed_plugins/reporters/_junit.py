"""A run as tests: one for each trial."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trialbed.report import ReportedTrial, Summary, trial_name
from trialbed.views import TestCase, TestSuite


def run_suite(summary: Summary) -> TestSuite:
    """The trials of a framework as tests.

    One that failed, or whose answer is Unsolved, is a failure; one that was not measured or has no verdict is an error.
    """
    run, config = summary.run, summary.run.config
    properties = {
        "run_id": run.run_id,
        "status": run.status,
        "test_set": config.test_set,
        "model": config.model,
        "evaluator_model": config.judge,
        "framework_version": summary.info.version if summary.info else None,
        "trialbed_version": config.trialbed_version,
    }
    known = {key: str(value) for key, value in properties.items() if value is not None}
    return TestSuite(summary.framework, list(_cases(summary)), known)


def _cases(summary: Summary) -> Iterator[TestCase]:
    classname = f"{summary.run.config.test_set}.{summary.framework}"
    for trial in summary.trials:
        name = trial_name(summary.framework, trial.query_id, trial.repeat)
        yield TestCase(classname, name, trial.wall_time, **_outcome(trial))
    tried = sum(1 for trial in summary.trials if trial.status == "not measured")
    never = summary.counts.not_measured - tried
    if never > 0:
        yield TestCase(
            classname, "trials not begun", outcome="error", kind="not begun", message=f"{never} trials were not begun"
        )


def _outcome(trial: ReportedTrial) -> dict[str, Any]:
    failure = trial.failure
    if failure is not None:
        message = failure.message.partition("\n")[0]
        outcome = "failure" if trial.status == "failed" else "error"
        return {"outcome": outcome, "kind": failure.kind, "message": message, "text": failure.message}
    verdict, reason = trial.verdict, trial.reason
    if verdict == "Unsolved":
        return {"outcome": "failure", "kind": "Unsolved", "message": reason or "Unsolved", "text": reason}
    if verdict == "Error":
        return {"outcome": "error", "kind": "judge", "message": reason or "there is no verdict", "text": reason}
    return {}
