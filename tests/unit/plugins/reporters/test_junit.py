"""A run as tests for continuous integration."""

from __future__ import annotations

from io import StringIO
from typing import Any
from xml.etree import ElementTree as Xml

from support.memory_runs import report_of
from support.run_reports import document, reported
from support.trials import run_config, run_of

from trialbed.records import RunCell
from trialbed_plugins.reporters import JunitReporter


def entry(query_id: int, status: str = "answered", answer: str = "Solved", **more: Any) -> dict[str, Any]:
    return {
        "query_id": query_id,
        "repeat": 0,
        "status": status,
        "scores": {"sopr_score": None, "answer_status": answer},
        "evaluation": {"reason": "it lacks 21"},
        "timing": {"system_answer_time": 0.5},
        **more,
    }


def cases(**more: Any) -> list[Xml.Element]:
    stream = StringIO()
    JunitReporter().report(reported(document(**more)), stream)
    return Xml.fromstring(stream.getvalue()).findall("testsuite/testcase")


def test_each_suite_has_the_model_of_its_setup() -> None:
    models = {"reference@m": "m", "reference@n": "n"}
    cells = (RunCell(label=label, framework="reference", model=model) for label, model in models.items())
    report = report_of(run_of(run_config(*cells)), {}, ())
    stream = StringIO()
    JunitReporter().report(report, stream)
    suites = Xml.fromstring(stream.getvalue()).findall("testsuite")
    found = {suite.get("name"): suite.find("properties/property[@name='model']") for suite in suites}
    assert {name: own.get("value") for name, own in found.items() if own is not None} == models


def test_each_trial_is_a_test_that_fails_where_the_query_is_not_solved() -> None:
    crashed = {"error": {"kind": "crash", "message": "Segmentation fault\nat 0x0"}}
    refused = {"error": {"kind": "endpoint", "message": "status 429"}}
    found = cases(
        results=[
            entry(1),
            entry(2, answer="Unsure"),
            entry(3, answer="Unsolved"),
            entry(4, "failed", "Error", **crashed),
            entry(5, "not measured", "Error", **refused),
            entry(6, answer="Error"),
        ],
        not_measured_count=3,
    )
    outcomes = [(case[0].tag, case[0].get("type"), case[0].get("message")) if len(case) else None for case in found]
    assert outcomes == [
        None,
        ("failure", "Unsure", "it lacks 21"),
        ("failure", "Unsolved", "it lacks 21"),
        ("failure", "crash", "Segmentation fault"),
        ("error", "endpoint", "status 429"),
        ("error", "judge", "it lacks 21"),
        ("error", "not begun", "2 trials were not begun"),
    ]
    assert found[0].attrib == {"classname": "mini.reference", "name": "reference/1", "time": "0.500"}
    assert [case.get("name") for case in cases(results=[entry(1)], repeat=2)] == ["reference/1/0"]
