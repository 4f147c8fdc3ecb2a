"""Findings, added up."""

from __future__ import annotations

from support.cases import for_each

from trialbed_adapter_lab import CheckFinding, ConformanceReport
from trialbed_adapter_lab.probe import FAILS_EARLY


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


def test_levels_that_were_not_checked_are_left_out():
    assert report(("should", "passed")).badge == "acme 1.2 · should 1/1"


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


def test_what_ends_a_trial_before_it_begins_is_shown_first():
    found = ConformanceReport(
        framework="acme",
        version="1.2",
        findings=tuple(
            CheckFinding(check=name, level="must", outcome="failed", cause=why)
            for name, why in (("one", ""), ("other", ""), ("early", f"{FAILS_EARLY}, with KeyError"))
        ),
    )
    assert [group[0].check for group in found.by_cause("failed")] == ["early", "one", "other"]


def test_findings_of_one_cause_are_grouped_in_the_order_of_the_checks():
    causes = {"a": "same", "b": "", "c": "", "d": "same", "e": "other"}
    found = ConformanceReport(
        framework="acme",
        version="1.2",
        findings=tuple(
            CheckFinding(check=name, level="must", outcome="failed", cause=why) for name, why in causes.items()
        ),
    )
    groups = [[finding.check for finding in group] for group in found.by_cause("failed", "error")]
    assert groups == [["a", "d"], ["b"], ["c"], ["e"]]
    assert found.by_cause("finding") == []


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
