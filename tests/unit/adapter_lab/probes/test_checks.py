"""The table of checks, what they expect, and those of conversations."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, get_args

import pytest
from support.cases import for_each
from support.defects import DEFECTS
from support.defects.histories import Conversing, KeepsTexts, Remembers, Windowed
from support.trial_records import observed

from trialbed.records import Failure
from trialbed_adapter_lab import CHECKS, LEVELS, CheckFailed, Level, check_adapter
from trialbed_adapter_lab.probes import THEMES, probes_of
from trialbed_adapter_lab.probes.claims import HISTORY, no_requests_beside_the_turns
from trialbed_adapter_lab.probes.conditions import EVERYWHERE
from trialbed_adapter_lab.report_command import THEMES as NAMES
from trialbed_adapter_lab.trials import difference, expect_answer, expect_requests


def test_there_are_enough_and_each_has_its_own_name():
    assert len(CHECKS) >= 45
    assert [name for name, times in Counter(check.name for check in CHECKS).items() if times > 1] == []


def test_a_check_says_what_why_and_how():
    for check in CHECKS:
        assert re.fullmatch(r"[a-z][a-z_]+", check.name)
        for text in (check.summary, check.reason, check.hint):
            assert text[0].isupper() or text.startswith("tool."), check.name
            assert text.endswith("."), check.name
            assert "\n" not in text, check.name


def test_every_theme_has_checks_and_every_level_is_used():
    assert all(map(probes_of, THEMES))
    assert sorted(theme.name for theme in THEMES) == [*NAMES]
    assert {check.level for check in CHECKS} == set(LEVELS) == {*get_args(Level)} - {"info"}


def test_invariants_are_looked_at_after_all_other_trials_but_those_of_policies() -> None:
    *_, policies, last = names = [check.name for check in CHECKS]
    assert names[-2 - len(EVERYWHERE) : -2] == [check.name for check in EVERYWHERE]
    assert (policies, last) == ("scripted_models_take_their_turns", "only_the_rig_is_talked_to")


@for_each(
    ("expected", "seen", "said"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, None),
        (1, True, "expected 1; seen: true"),
        (0, False, "expected 0; seen: false"),
        (1, 1.0, "expected 1; seen: 1.0"),
        ("7", 7, 'expected "7"; seen: 7'),
        (None, "", 'expected null; seen: ""'),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "expected 2 at /a/b/1; seen: 3 at /a/b/1"),
        ({"a": 1}, {}, "expected 1 at /a; seen: nothing at /a"),
        ({}, {"a": 1}, "expected nothing at /a; seen: 1 at /a"),
        ([1], [1, 2], "expected nothing at /1; seen: 2 at /1"),
        ([1, 2], [1], "expected 2 at /1; seen: nothing at /1"),
        ({"a": [1, 2]}, {"a": [2, 1]}, "expected [1, 2] at /a; seen: [2, 1] at /a"),
        ([{"a": 1, "b": ["x"]}], [{"b": ["x"], "a": 2}], "expected 1 at /0/a; seen: 2 at /0/a"),
        ({"a/b": {"c~d": 1}}, {"a/b": {"c~d": 2}}, "expected 1 at /a~1b/c~0d; seen: 2 at /a~1b/c~0d"),
    ],
)
def test_the_place_where_values_part_is_named(expected, seen, said):
    assert difference(expected, seen) == said


def test_a_failed_trial_is_told_with_the_end_of_its_traceback():
    failure = Failure(
        kind="agent", message="KeyError: 'x'", detail="Traceback\n  File a\n    b()\n    ^^^\nKeyError: 'x'"
    )
    record = observed(failure=failure)
    with pytest.raises(CheckFailed, match=r"the trial failed: agent: KeyError: 'x'\n.*\n    File a\n      b\(\)$"):
        expect_answer(record)
    with pytest.raises(CheckFailed, match=r"expected 1 model request; seen: 0 requests, and the trial failed: agent: "):
        expect_requests(record, 1)


@pytest.mark.parametrize("agent", [Conversing, *(one for one in DEFECTS if issubclass(one, Conversing))])
def test_what_is_done_to_the_history_is_seen(agent: type[Any]) -> None:
    report = check_adapter(agent, probes_of(HISTORY), profile="controlled", level="info")
    assert {finding.check for finding in report.problems} == set(DEFECTS.get(agent, ()))
    (figures,) = (finding.seen for finding in report.findings if finding.level == "info")
    assert isinstance(figures, dict)
    assert figures["messages dropped"] == {Windowed: 14, KeepsTexts: 2}.get(agent, 0)
    assert figures["bytes, turn 1"] < figures["bytes, turn 3"]


def test_requests_for_a_memory_are_seen() -> None:
    report = check_adapter(Remembers, [no_requests_beside_the_turns], profile="controlled")
    assert "extra request" in report.findings[0].message
