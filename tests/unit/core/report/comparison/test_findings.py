"""Findings: figures, verdicts, and how often they are right where the truth is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each
from support.sides import SCORE, side

from trialbed.report.comparison import ScoreFinding, Side, paired_findings, verdict_notes
from trialbed.statistics import mcnemar, paired_interval

MARGIN = 0.05


def findings(*pairs: tuple[Side, Side], margin: float = MARGIN) -> list[ScoreFinding]:
    return [finding for own in paired_findings(pairs, margin, [SCORE]) for finding in own.values()]


def finding(baseline: Mapping[int, Any], candidate: Mapping[int, Any], margin: float = MARGIN) -> ScoreFinding:
    (found,) = findings((side("a", baseline), side("b", candidate)), margin=margin)
    return found


def test_what_changed_is_named_and_tested_pair_by_pair() -> None:
    ones = dict.fromkeys(range(20), 1.0)
    found = finding(ones, ones | dict.fromkeys(range(8), 0.0))
    assert found.difference == -0.4
    assert found.worse == tuple(range(8))
    assert found.better == ()
    assert found.p == found.p_adjusted == mcnemar(0, 8)
    assert found.verdict == "worse"
    assert found.queries_needed is None


def test_differences_are_those_of_means_over_repeats_on_the_queries_that_both_have() -> None:
    ours, theirs = {"b": [1.0, 0.0], 3: 1.0, 1: 0.0, "only": 1.0}, {1: 1.0, 3: [0.0, 1.0], "b": 1.0, "other": 0.0}
    found = finding(ours, theirs)
    assert (found.n, found.baseline_mean, found.candidate_mean) == (3, 0.5, pytest.approx(2.5 / 3))
    assert found.difference == pytest.approx((0.5 - 0.5 + 1.0) / 3)
    assert (found.better, found.worse) == (("b", 1), (3,)), "in the order of the baseline"


def test_the_same_values_are_identical_however_few_they_are() -> None:
    found = finding({1: 1.0, 2: 0.0}, {1: 1.0, 2: 0.0})
    assert (found.verdict, found.queries_needed, found.p) == ("identical", None, 1.0)


def test_too_few_queries_say_how_many_would_do() -> None:
    found = finding(dict.fromkeys(range(20), 1.0), dict.fromkeys(range(20), 1.0) | {3: 0.0, 4: 0.0})
    assert found.verdict == "too few"
    assert found.queries_needed is not None
    assert 20 < found.queries_needed < 200


def test_many_queries_with_few_changes_are_equivalent() -> None:
    ones = dict.fromkeys(range(600), 1.0)
    found = finding(ones | {1: 0.0}, ones | {2: 0.0})
    assert found.verdict == "equivalent"


def test_repeats_of_a_query_are_one_observation() -> None:
    once = finding({1: [1.0] * 9, 2: [1.0] * 9}, {1: [0.0] * 9, 2: [0.0] * 9})
    assert (once.n, once.verdict) == (2, "too few")


def test_p_values_are_adjusted_over_all_that_is_compared() -> None:
    ones = dict.fromkeys(range(20), 1.0)
    base, other = side("a", ones), side("b", ones | dict.fromkeys(range(6), 0.0))
    one, *_ = findings((base, other))
    several = findings(*[(base, other)] * 3)
    assert one.verdict == "worse"
    assert [found.p_adjusted for found in several] == [pytest.approx(3 * one.p)] * 3
    assert {found.verdict for found in several} == {"too few"}


def test_what_is_identical_does_not_count_as_a_test() -> None:
    ones = dict.fromkeys(range(20), 1.0)
    base, worse, same = side("a", ones), side("b", ones | dict.fromkeys(range(6), 0.0)), side("c", ones)
    found = findings((base, worse), *[(base, same)] * 9)
    assert [finding.verdict for finding in found] == ["worse", *["identical"] * 9]
    assert found[0].p_adjusted == found[0].p


def test_what_all_goes_one_way_needs_as_many_as_an_exact_test_does() -> None:
    found = finding(dict.fromkeys(range(4), 1.0), dict.fromkeys(range(4), 0.0))
    assert (found.verdict, found.queries_needed) == ("too few", 6)


def test_a_score_that_no_query_has_on_both_sides_gives_no_finding() -> None:
    assert findings((side("a", {1: 1.0}), side("b", {2: 1.0}))) == []


@given(st.lists(st.floats(-1, 1, allow_nan=False), min_size=1, max_size=40))
def test_the_interval_holds_the_mean_and_lies_where_differences_can(differences: list[float]) -> None:
    low, high, _ = paired_interval(differences)
    mean = float(np.mean(differences))
    assert -1 <= low <= mean + 1e-9
    assert mean - 1e-9 <= high <= 1
    mirrored = paired_interval([-difference for difference in differences])
    assert (mirrored.low, mirrored.high) == pytest.approx((-high, -low))


SAMPLES = 100
EASY = (8.0, 2.0)


def drawn(shape: tuple[float, float], n: int, repeats: int, shift: float) -> np.ndarray[Any, Any]:
    """Differences of queries of which each is solved with a chance of its own, which the candidate has less."""
    random = np.random.default_rng(n + repeats)
    chances = random.beta(*shape, size=(SAMPLES, n))
    lost = random.random((SAMPLES, n)) < shift / chances.mean()
    theirs = np.where(lost, 0.0, chances)
    # Each loses the same share on average, whatever the chance was.
    return (random.binomial(repeats, theirs) - random.binomial(repeats, chances)) / repeats


@for_each(("n", "repeats"), [(20, 1), (60, 3)])
def test_where_nothing_differs_a_verdict_says_otherwise_once_in_twenty_at_most(n: int, repeats: int) -> None:
    rows = drawn(EASY, n, repeats, 0.0)
    verdicts = [finding(dict.fromkeys(range(n), 1.0), dict(enumerate(1.0 + row))).verdict for row in rows]
    assert np.mean([verdict in ("better", "worse") for verdict in verdicts]) <= 0.05 + 0.04


@for_each(("n", "repeats"), [(20, 1), (60, 3)])
def test_a_difference_at_the_margin_is_called_equivalent_once_in_twenty_at_most(n: int, repeats: int) -> None:
    rows = drawn(EASY, n, repeats, 0.1)
    verdicts = [finding(dict.fromkeys(range(n), 1.0), dict(enumerate(1.0 + row)), 0.1).verdict for row in rows]
    assert np.mean([verdict == "equivalent" for verdict in verdicts]) <= 0.05 + 0.04


def test_a_verdict_allows_for_losses_that_were_not_seen() -> None:
    """Twenty small differences lie within the margin; one more query may lose all, and the interval says so."""
    found = finding(dict.fromkeys(range(20), 0.5), {query: 0.5 + (0.05 if query % 2 else -0.05) for query in range(20)})
    assert found.interval.low < -MARGIN
    assert found.verdict == "too few"


def test_of_a_score_without_bounds_unseen_queries_differ_as_those_seen() -> None:
    sides = [side("a", dict.fromkeys(range(20), 30.0)), side("b", dict.fromkeys(range(20), 30.0) | {3: 10.0})]
    unbounded = [replace(one, bounded=frozenset(), quality=frozenset()) for one in sides]
    (found,) = findings((unbounded[0], unbounded[1]))
    assert -6 < found.interval.low < -1 < 2 < found.interval.high < 4
    assert any("no bounds are declared" in note for note in verdict_notes([found]))
    assert not any("no bounds are declared" in note for note in verdict_notes([replace(found, bounded=True)]))


def test_what_a_few_queries_lose_and_many_gain_a_little_of_is_not_called_worse_too_often() -> None:
    random = np.random.default_rng(5)
    loses = random.random((SAMPLES, 20)) < 0.05
    ours = random.binomial(3, np.where(loses, 1.0, 0.5))
    theirs = random.binomial(3, np.where(loses, 0.0, 0.5 + 0.05 / 0.95))
    verdicts = [
        finding(dict.fromkeys(range(20), 1.0), dict(enumerate(1.0 + row))).verdict for row in (theirs - ours) / 3
    ]
    assert np.mean([verdict in ("better", "worse") for verdict in verdicts]) <= 0.05 + 0.04
