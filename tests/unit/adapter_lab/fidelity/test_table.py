"""Fidelity reports as tables and pages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

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


def test_a_probe_that_did_not_run_or_lacks_a_figure_is_not_observed() -> None:
    assert cell(None) == cell(sizes(), "tokens") == "-"


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


def test_a_reason_for_which_there_are_no_figures_is_shown_once() -> None:
    failed = finding("prompt_sizes", "finding", level="info", theme="traffic", seen="the trial failed")
    rows = shown(REFERENCE, adapter("other", failed))["Traffic"].rows
    assert [row.cells for row in rows] == [("1,200", "the trial failed"), ("none", "-")]


def test_a_theme_without_differences_is_one_line() -> None:
    same = adapter("other:native", *REFERENCE.findings.values())
    differs = adapter("other:controlled", *REFERENCE.findings.values(), finding("late", seen=1))
    tables = shown(REFERENCE, same, differs)
    assert list(tables) == ["", "Checks passed, and first figures", "Versions", "Calls, controlled", "Notes"]
    assert tables["Checks passed, and first figures"].notes == [
        "Same as reference in all rows, native: calls (2), traffic (2).",
        "Same as reference in all rows, controlled: traffic (2).",
    ]


def test_many_rows_of_one_probe_are_only_counted() -> None:
    tools = {f"tool {number}": "as given" for number in range(30)}
    other = adapter("other", sizes(bytes=1300, **dict.fromkeys(tools, "changed")), finding("other", theme="traffic"))
    traffic = shown(adapter("reference", sizes(**tools)), other)["Traffic"]
    assert [row.label for row in traffic.rows] == ["other"]
    assert traffic.notes == ["1 more row: same as reference.", "prompt_sizes: 31 more rows, shown with --part traffic."]


def test_the_reference_alone_has_all_rows() -> None:
    assert [row.label for row in shown(REFERENCE)["Calls"].rows] == ["single_call", "parallel_calls"]


def test_the_summary_has_the_checks_that_passed_and_first_figures() -> None:
    other = adapter("other", finding("single_call", "finding", seen="twice"), sizes())
    summary = shown(REFERENCE, other, adapter("broken", reason="no such module"))["Checks passed, and first figures"]
    assert summary.columns == ("adapter", "may", "bytes")
    assert [(row.label, *row.cells) for row in summary.rows] == [
        ("reference", "2/2", "1,200"),
        ("other", "0/1 (1 finding)", "1,200"),
        ("broken", "-", "-"),
    ]


def test_notes_have_reasons() -> None:
    declared = [finding(name, "declared", message="makes one call at a time\nexpected …") for name in ("one", "two")]
    broken = adapter("broken", reason="no such module")
    notes = shown(REFERENCE, adapter("other", *declared), broken)["Notes"].notes
    assert notes[1].startswith("other, one, two: makes one call at a time")
    assert notes[2] == "broken could not be measured: no such module"
    assert "broken" not in shown(REFERENCE, broken)["Calls"].columns
