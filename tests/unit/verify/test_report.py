"""The report of a verification in each format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.vendor_rows import own_row, write_rows
from support.verification import summarised

from trialbed_verify.report import print_report
from trialbed_verify.rows import FileRows


@pytest.fixture
def summary(tmp_path: Path) -> dict[str, Any]:
    """Of three cases, of which one is not answered."""
    page = {"kind": "html", "message": "a web page"}
    rows = [own_row(1, "protocol_error", problem=page), own_row(2, "stop"), own_row(3, "tool_calls")]
    write_rows(tmp_path / "results.jsonl", rows)
    return summarised(tmp_path, *rows)


def printed(summary: dict[str, Any], form: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    print_report(form, [summary], None, [FileRows(folder / "results.jsonl")])
    return capsys.readouterr().out


def test_a_verification_is_printed_in_each_format(
    summary: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert json.loads(printed(summary, "json", tmp_path, capsys)) == summary
    assert printed(summary, "html", tmp_path, capsys).startswith("<!DOCTYPE html>")
    assert printed(summary, "csv", tmp_path, capsys).startswith("model,vendor,")
    assert "| " in printed(summary, "markdown", tmp_path, capsys)
    root = ElementTree.fromstring(printed(summary, "junit", tmp_path, capsys))
    cases = {case.get("name"): case for case in root.iter("testcase")}
    failure = cases["requests are answered"].find("failure")
    assert failure is not None
    assert failure.get("message") == "1 html"
    assert cases["calls fit their schemas"].find("failure") is None


def test_tests_without_answers_are_skipped(summary: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    counts = dict.fromkeys(("success_count", "failure_count", "case_count", "schema_validation_error_count"), 0)
    silent = {**summary, **counts, "successful_tool_call_count": 0, "problems": {}, "notes": {}, "not_sent": 0}
    left_out = {"model": "m", "baseline": "base", "comparisons": (), "notes": ("acme is left out: it has no rows",)}
    for given, outcomes in ((silent, {"skipped"}), ({**silent, "not_sent": 3}, {"failure", "skipped"})):
        print_report("junit", [given], {"models": [left_out], "ranking": None}, [])
        root = ElementTree.fromstring(capsys.readouterr().out)
        assert {found.tag for case in root.iter("testcase") for found in (*case, case)} == {"testcase", *outcomes}
        assert "acme is left out: it has no rows" in {found.get("message") for found in root.iter("skipped")}
        assert all(len(case) == 1 for case in root.iter("testcase"))
