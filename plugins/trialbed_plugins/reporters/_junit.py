"""A run as tests: one for each trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialbed.report import trial_name
from trialbed.views import TestCase, TestSuite

Document = Mapping[str, Any]

PROPERTIES = ("run_id", "status", "test_set", "model", "evaluator_model", "framework_version", "trialbed_version")


def run_suite(document: Document) -> TestSuite:
    """The trials of a framework as tests.

    One that failed, or whose answer is Unsolved, is a failure; one that was not measured or has no verdict is an error.
    """
    about = document["metadata"]
    properties = {key: str(about[key]) for key in PROPERTIES if about.get(key) is not None}
    return TestSuite(about["agent_name"], list(_cases(document)), properties)


def _cases(document: Document) -> Iterator[TestCase]:
    about, summary = document["metadata"], document["summary"]
    classname = f"{about['test_set']}.{about['agent_name']}"
    for entry in document["results"]:
        name = trial_name(about["agent_name"], entry)
        seconds = entry.get("timing", {}).get("system_answer_time") or 0.0
        yield TestCase(classname, name, seconds, **_outcome(entry))
    tried = sum(1 for entry in document["results"] if entry["status"] == "not measured")
    never = summary["not_measured_count"] - tried
    if never > 0:
        yield TestCase(
            classname, "trials not begun", outcome="error", kind="not begun", message=f"{never} trials were not begun"
        )


def _outcome(entry: Document) -> dict[str, Any]:
    if entry["status"] != "answered":
        error = entry["error"]
        message = str(error["message"]).partition("\n")[0]
        outcome = "failure" if entry["status"] == "failed" else "error"
        return {"outcome": outcome, "kind": error["kind"], "message": message, "text": str(error["message"])}
    status = entry["scores"].get("answer_status")
    reason = str(entry.get("evaluation", {}).get("reason") or "")
    if status == "Unsolved":
        return {"outcome": "failure", "kind": "Unsolved", "message": reason or "Unsolved", "text": reason}
    if status == "Error" and "sopr_score" in entry["scores"]:
        return {"outcome": "error", "kind": "judge", "message": reason or "there is no verdict", "text": reason}
    return {}
