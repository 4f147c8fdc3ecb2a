"""A run as Markdown, CSV, a page, and tests for continuous integration."""

from __future__ import annotations

import csv
import io
from io import StringIO
from typing import Any
from xml.etree import ElementTree as Xml

from support.run_reports import document, reported

from trialbed.contracts import Reporter
from trialbed_plugins.reporters import CsvReporter, HtmlReporter, JunitReporter, MarkdownReporter


def shown(reporter: Reporter, *documents: dict[str, Any]) -> str:
    stream = io.StringIO()
    reporter.report(reported(*documents), stream)
    return stream.getvalue()


def test_markdown_is_a_section_with_the_table() -> None:
    text = shown(MarkdownReporter(), document(), document("other"))
    assert text.startswith(
        "## reference and other with scripted:gold on 20 tasks (mini)\n\nreference and other solve 80 %"
    )
    assert "|  | solved | tokens | time |\n| --- | ---: | ---: | ---: |\n" in text
    assert "| other | 80 % [58, 92] | 1 | 1.00 s |" in text
    assert "| other | 0.80 [0.58, 0.92] |" in text


def test_csv_has_a_line_per_framework_and_score() -> None:
    lines = list(csv.DictReader(io.StringIO(shown(CsvReporter(), document(), document("other")))))
    assert [(line["agent_name"], line["score"]) for line in lines[:5:4]] == [
        ("reference", "sopr_score"),
        ("other", "sopr_score"),
    ]
    assert lines[0] | {"mean": "0.8", "low": "0.584", "high": "0.919", "n": "20", "errors": "0"} == lines[0]
    assert (lines[1]["score"], lines[1]["low"], lines[1]["median"]) == ("total_tokens", "", "1.0")
    missing = document(status="incomplete", answered_count=17, failed_count=2, not_measured_count=1)
    first, *_ = csv.DictReader(io.StringIO(shown(CsvReporter(), missing)))
    assert (first["trials"], first["errors"]) == ("20", "3")


def test_a_page_has_the_table() -> None:
    text = shown(HtmlReporter(), document(), document("other"))
    assert text.startswith("<!DOCTYPE html>")
    assert text.count(">123,457 / ") == 2


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
