"""Fidelity reports as tables and files."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from trialbed.cli import main
from trialbed.views import Table
from trialbed_adapter_lab import CheckFinding, ConformanceReport
from trialbed_adapter_lab.fidelity import Conditions, FidelityReport, MeasuredAdapter, cell, report_tables

CONDITIONS = Conditions(
    measured_at=datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
    seconds=60.0,
    trialbed="0.1.0",
    python="3.11.7",
    system="Linux",
    cores=4,
    themes=("calls", "traffic"),
)
SIZES = {"bytes": 1200, "other fields": "none"}


def finding(check: str, outcome: str = "passed", **fields: Any) -> CheckFinding:
    about = {"check": check, "level": "may", "outcome": outcome, "theme": "calls", **fields}
    return CheckFinding.model_validate(about)


def sizes(**changed: Any) -> CheckFinding:
    return finding("prompt_sizes", "seen", level="info", theme="traffic", seen=SIZES | changed)


def adapter(label: str, *findings: CheckFinding, reason: str = "") -> MeasuredAdapter:
    report = None if reason else ConformanceReport(framework=label, version="1.0", findings=findings)
    return MeasuredAdapter(label=label, report=report, reason=reason)


def shown(*adapters: MeasuredAdapter) -> dict[str, Table]:
    """Return the tables of a report by their titles."""
    return {table.title: table for table in report_tables(FidelityReport(conditions=CONDITIONS, adapters=adapters))}


REFERENCE = adapter("reference", finding("single_call"), finding("parallel_calls"), sizes())


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "✓"),
        ({"seen": "10 of 10"}, "10 of 10"),
        ({"seen": 12345}, "12,345"),
        ({"seen": True}, "yes"),
        ({"seen": ["a", 1]}, '["a", 1]'),
        ({"outcome": "seen", "seen": 0}, "0"),
        ({"outcome": "skipped"}, "not tried"),
        ({"outcome": "finding", "seen": "2 requests"}, "2 requests"),
        ({"outcome": "failed", "seen": "2 requests"}, "✗ 2 requests"),
        ({"outcome": "declared", "seen": "2 requests"}, "2 requests (declared)"),
        ({"outcome": "outdated", "seen": None}, "✓ (outdated)"),
        ({"outcome": "error"}, "error"),
    ],
)
def test_a_cell_has_the_figure_or_what_was_seen_instead(fields: dict[str, Any], text: str) -> None:
    assert cell(finding("any", **fields)) == text


def test_a_row_stands_for_a_probe_or_for_each_of_its_figures() -> None:
    other = adapter("other", finding("single_call", "failed", level="must", seen="twice"), sizes(bytes=1300))
    tables = shown(REFERENCE, other)
    calls, traffic = tables["Calls"], tables["Traffic"]
    assert calls.columns == ("probe", "reference", "other")
    assert [(row.label, row.cells, row.alarming) for row in calls.rows] == [
        ("single_call", ("✓", "✗ twice"), True),
        ("parallel_calls", ("✓", "-"), False),
    ]
    assert [(row.label, row.cells) for row in traffic.rows] == [("prompt_sizes: bytes", ("1,200", "1,300"))]
    assert traffic.notes == ["1 more row: same as reference."]


def test_a_theme_without_differences_is_one_line() -> None:
    same = adapter("other:native", *REFERENCE.findings.values())
    differs = adapter("other:controlled", *REFERENCE.findings.values(), finding("late", seen=1))
    tables = shown(REFERENCE, same, differs)
    assert list(tables) == ["", "Checks passed, and first figures", "Versions", "Calls, controlled", "Notes"]
    assert tables["Checks passed, and first figures"].notes == [
        "Same as reference in all rows, native: calls (2), traffic (2).",
        "Same as reference in all rows, controlled: traffic (2).",
    ]


def test_the_summary_has_the_checks_that_passed_and_first_figures() -> None:
    other = adapter("other", finding("single_call", "finding", seen="twice"), sizes())
    summary = shown(REFERENCE, other, adapter("broken", reason="no such module"))["Checks passed, and first figures"]
    assert summary.columns == ("adapter", "may", "bytes")
    assert [(row.label, *row.cells) for row in summary.rows] == [
        ("reference", "2/2", "1,200"),
        ("other", "0/1 (1 finding)", "1,200"),
        ("broken", "-", "-"),
    ]


MEASURED = Path(__file__).parents[4] / "docs" / "results" / "fidelity.json"


def test_a_file_is_shown_and_written_again_unchanged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = tmp_path / "again.json"
    assert main(["fidelity", str(MEASURED), "--output", str(again)]) == 0
    assert "langgraph:native" in capsys.readouterr().out
    assert json.loads(again.read_text()) == json.loads(MEASURED.read_text())


def test_a_file_is_shown_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fidelity", str(MEASURED), "langgraph"]) == 2
    assert f"{MEASURED}: a file is shown alone; leave out the other names" in capsys.readouterr().err


def test_a_part_alone_has_the_rows_of_large_probes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fidelity", str(MEASURED), "--format", "markdown"]) == 0
    assert "hard\\_schemas\\_by\\_tool: 100 more rows, shown with --part traffic." in capsys.readouterr().out
    assert main(["fidelity", str(MEASURED), "--part", "traffic", "--format", "markdown"]) == 0
    assert capsys.readouterr().out.count("| hard\\_schemas\\_by\\_tool: ") >= 100


def test_a_file_that_cannot_be_read_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "old.json"
    path.write_text('{"conditions": {}, "adapters": []}', encoding="utf-8")
    assert main(["fidelity", str(path)]) == 2
    assert "not a report of bench fidelity --output: Field required" in " ".join(capsys.readouterr().err.split())
