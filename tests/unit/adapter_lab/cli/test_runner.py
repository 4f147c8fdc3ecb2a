"""How a report is shown."""

from __future__ import annotations

from typing import Any

import pytest

from trialbed_adapter_lab import CheckFinding, ConformanceReport
from trialbed_adapter_lab.kit_process import show_report


def shown(capsys: pytest.CaptureFixture[str], *findings: dict[str, Any]) -> list[str]:
    """The paragraphs of a report on these findings."""
    made = tuple(CheckFinding(**{"level": "must", "outcome": "failed", **fields}) for fields in findings)
    show_report(ConformanceReport(framework="acme", version="1.2", findings=made))
    return capsys.readouterr().out.strip().split("\n\n")


def test_failures_of_one_cause_are_told_once_with_the_others_names(capsys: pytest.CaptureFixture[str]) -> None:
    cause = "more requests to the model than turns"
    first, other, badge = shown(
        capsys,
        {"check": "one", "message": "expected 1\nseen: 2", "cause": cause},
        {"check": "other", "message": "expected yes", "cause": "something else"},
        {"check": "two", "message": "expected 3", "cause": cause},
        {"check": "three", "level": "should", "message": "expected 4", "cause": cause},
    )
    assert first.splitlines() == [
        "✗ one (must): failed",
        "    expected 1",
        "    seen: 2",
        f"    The same in 2 more checks, {cause}: two, three",
    ]
    assert other.splitlines() == ["✗ other (must): failed", "    expected yes"]
    assert badge == "acme 1.2 · must 0/3 · should 0/1"


def test_a_long_failure_keeps_its_beginning_and_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"line {number}" for number in range(100)]
    block, _ = shown(capsys, {"check": "one", "message": "\n".join([*lines, "why: so", "hint: do"])})
    assert len(block.splitlines()) <= 20
    assert block.splitlines()[1:3] == ["    line 0", "    line 1"]
    assert block.splitlines()[-2:] == ["    why: so", "    hint: do"]


def test_of_many_failures_the_first_are_shown_and_the_rest_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    *blocks, rest, _ = shown(capsys, *({"check": f"check{number}", "message": "m"} for number in range(30)))
    assert [block.splitlines()[0] for block in blocks] == [f"✗ check{number} (must): failed" for number in range(3)]
    assert rest.startswith("27 more failed")
    assert rest.endswith("and 15 more")
