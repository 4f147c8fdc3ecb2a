"""Findings: figures, verdicts, ranks and words, and how often they are right where the truth is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each
from support.run_reports import finding as finding_of
from support.sides import SCORE, side

from trialbed.report.comparison import (
    ScoreFinding,
    Side,
    changes_text,
    open_ranks,
    paired_findings,
    rank_notes,
    read_groups,
    verdict_notes,
)
from trialbed.statistics import mcnemar, paired_interval
from trialbed_evaluation.run_comparer import RunComparer

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


FIGURES = {"n": 1, "difference": 0, "low": 0, "high": 0, "margin": 0, "p_adjusted": 1, "verdict": "worse"}


def words(**found: Any) -> str:
    return changes_text(finding_of("sopr_score", {**FIGURES, **found}))


def test_queries_that_changed_are_in_order_and_some_are_left_to_the_document() -> None:
    assert words(worse=[10, 2, "b", "a"], better=[7]) == "worse on tasks 2, 10, a, b; better on task 7"
    assert words(worse=[], better=[]) == ""
    many = words(worse=range(1030), better=[])
    assert many.endswith("18, 19 and 1,010 more (--json has all)")


def test_one_comparison_is_adjusted_over_none() -> None:
    def notes(*comparisons: int) -> list[str]:
        one = finding_of("sopr_score", {**FIGURES, "worse": [1], "better": []})
        found = [replace(one, comparisons=number) for number in comparisons]
        return list(verdict_notes(found))

    test = "p: McNemar's exact or a paired permutation test"
    meaning = "better and worse have p below 0.05 and an interval without 0."
    assert notes(1) == [f"{test}; {meaning}"]
    assert notes(2, 2) == [f"{test}, adjusted by Holm's method over the 2 comparisons made at once; {meaning}"]


def solved(count: int) -> dict[int, dict[str, float]]:
    return {query: {"sopr_score": float(query <= count)} for query in range(1, 41)}


def test_only_differences_that_are_shown_part_ranks(write: Any) -> None:
    sides = [
        side
        for name, count in (("a", 38), ("b", 37), ("c", 5), ("d", 5))
        for side in read_groups([str(write(name, solved(count)))], None)[0]
    ]
    ranks = open_ranks(sides, 0.05)
    assert ranks == {"sopr_score": {"a": (1, 2), "b": (1, 2), "c": (3, 4), "d": (3, 4)}}
    note, _ = rank_notes(ranks)
    assert note.startswith("ranks by solved: 1 to 2 a, b; 3 to 4 c, d.")
    assert open_ranks(sides[:2], 0.05) == {}


def test_names_of_scores_in_words_leave_names_that_hold_one_as_they_are() -> None:
    ranks = {"cost": {"my-cost-agent": (1, 1), "b": (2, 2), "c": (3, 3)}}
    note, _ = rank_notes(ranks, named=lambda score: {"cost": "cost, USD"}[score])
    assert note == "ranks by cost, USD: 1 my-cost-agent; 2 b; 3 c."


def test_what_ranks_mean_is_said_below_them() -> None:
    _, meaning = rank_notes({"sopr_score": {"a": (1, 1), "b": (2, 3), "c": (2, 3)}})
    assert meaning.startswith(
        "Frameworks share a rank unless one is shown to be better. p is adjusted over all 3 pairs"
    )
    assert list(rank_notes({})) == []


def test_a_comparison_of_several_ranks_them(write: Any) -> None:
    files = [str(write(name, solved(count))) for name, count in (("a", 38), ("b", 38), ("c", 5))]
    options = {"margin": None, "force": False, "resamples": 100, "seed": 0, "store": None, "fail_on_regression": False}
    found = RunComparer().compare(files, options)
    assert found.document[1]["ranks"] == {"sopr_score": {"a": [1, 2], "b": [1, 2], "c": [3, 3]}}
    assert "3 c" in found.tables[-1].notes[-2]
    assert any("worse on tasks 6, 7" in note and "13 more" in note for note in found.tables[-1].notes)
