"""The report of a verification in each format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.vendor_rows import own_row, write_rows
from support.verification import summarised

from trialbed_verify.report import VerifyReport
from trialbed_verify.vendor_rows import FileRows


@pytest.fixture
def summary(tmp_path: Path) -> dict[str, Any]:
    """Of three cases, of which one is not answered."""
    page = {"kind": "html", "message": "a web page"}
    rows = [own_row(1, "protocol_error", problem=page), own_row(2, "stop"), own_row(3, "tool_calls")]
    write_rows(tmp_path / "results.jsonl", rows)
    return summarised(tmp_path, *rows)


def printed(summary: dict[str, Any], form: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    VerifyReport([summary]).print(form, [FileRows(folder / "results.jsonl")])
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
    assert failure.get("message") == "1 were not: 1 html"
    assert cases["calls fit their schemas"].find("failure") is None
