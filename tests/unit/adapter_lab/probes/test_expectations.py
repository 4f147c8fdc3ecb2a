"""What a failing check says."""

from __future__ import annotations

import pytest
from support.cases import for_each
from support.trial_records import observed

from trialbed.records import Failure
from trialbed_adapter_lab import CheckFailed
from trialbed_adapter_lab.differences import show
from trialbed_adapter_lab.probe import expect
from trialbed_adapter_lab.probes._expectations import difference, expect_answer, expect_equal, expect_requests


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


def test_long_texts_are_shown_where_they_part():
    said = difference("x" * 1000, "x" * 500 + "y" + "x" * 499)
    assert said is not None
    assert len(said) < 300
    assert "from character 500 on" in said
    assert "xyxxx" in said


def test_a_text_that_was_cut_off_is_shown_as_such():
    assert "it ends after 400 of 1,000 characters" in str(difference("x" * 1000, "x" * 400))
    assert "it goes on after 400 characters" in str(difference("x" * 400, "x" * 1000))


def test_long_values_are_shortened():
    assert len(show(["x" * 10_000])) < 400
    assert "10004 characters" in show(["x" * 10_000])


def test_what_is_seen_is_a_value_or_words():
    with pytest.raises(CheckFailed, match=r"^expected three; seen: only two$"):
        expect(False, "three", "only two")
    with pytest.raises(CheckFailed, match=r'^expected three; seen: \["a"\]$'):
        expect(False, "three", ["a"])
    expect_equal("it", [1], [1])


def test_a_failed_trial_is_told_with_the_end_of_its_traceback():
    failure = Failure(
        kind="agent", message="KeyError: 'x'", detail="Traceback\n  File a\n    b()\n    ^^^\nKeyError: 'x'"
    )
    record = observed(failure=failure)
    with pytest.raises(CheckFailed, match=r"the trial failed: agent: KeyError: 'x'\n.*\n    File a\n      b\(\)$"):
        expect_answer(record)
    with pytest.raises(CheckFailed, match=r"expected 1 model request; seen: 0 requests, and the trial failed: agent: "):
        expect_requests(record, 1)
