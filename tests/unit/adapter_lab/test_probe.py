"""Findings, added up."""

from __future__ import annotations

from support.cases import for_each

from trialbed_adapter_lab import CheckFinding, ConformanceReport


def report(*findings: tuple[str, str]) -> ConformanceReport:
    return ConformanceReport(
        framework="acme",
        version="1.2",
        findings=tuple(
            CheckFinding(check=f"check_{number}", level=level, outcome=outcome)
            for number, (level, outcome) in enumerate(findings)
        ),
    )


def test_the_badge_counts_by_level():
    found = report(
        ("must", "passed"),
        ("must", "failed"),
        ("must", "skipped"),
        ("should", "passed"),
        ("should", "declared"),
        ("should", "outdated"),
        ("may", "finding"),
        ("may", "finding"),
    )
    assert found.badge == "acme 1.2 · must 1/3 (1 skipped) · should 1/3 (1 declared, 1 outdated) · may 0/2 (2 findings)"


@for_each(
    ("level", "outcome", "right"),
    [
        ("must", "passed", True),
        ("must", "skipped", True),
        ("must", "failed", False),
        ("should", "failed", False),
        ("should", "declared", True),
        ("should", "outdated", False),
        ("may", "finding", True),
        ("may", "outdated", False),
        ("may", "error", False),
        ("must", "error", False),
    ],
)
def test_what_is_wrong_and_what_is_not(level, outcome, right):
    found = report((level, outcome))
    assert found.ok is right
    assert len(found.problems) == (not right)


@for_each(
    ("outcome", "message"),
    [("finding", "expected 1; seen: 2"), ("error", "ValueError: 3"), ("passed", "expected 1; seen: 2")],
)
def test_a_finding_without_traces_names_no_folder_and_no_time(outcome, message):
    text = 'expected 1; seen: 2\n    File "/home/me/a.py", line 1\nValueError: 3'
    found = CheckFinding(
        check="a", level="may", outcome=outcome, message=text, cause="in /home/me", seen=text, seconds=2
    ).without_traces()
    assert (found.message, found.cause, found.seen, found.seconds) == (message, "", "expected 1; seen: 2", 0)
