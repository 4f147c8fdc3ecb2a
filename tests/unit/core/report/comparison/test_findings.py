"""Findings: figures, verdicts and ranks, within a run and between runs, and how often they are right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.run_reports import finding as finding_of
from support.sides import SCORE, side
from support.sides import side as side_of

from trialbed.errors import UsageError
from trialbed.report.comparison import (
    FrameworkComparison,
    ScoreFinding,
    Side,
    changes_text,
    chosen_baseline,
    compare_frameworks,
    open_ranks,
    paired_findings,
    rank_notes,
    read_groups,
    verdict_notes,
)

MARGIN = 0.05


def findings(*pairs: tuple[Side, Side], margin: float = MARGIN) -> list[ScoreFinding]:
    return [finding for own in paired_findings(pairs, margin, [SCORE]) for finding in own.values()]


def finding(baseline: Mapping[int, Any], candidate: Mapping[int, Any], margin: float = MARGIN) -> ScoreFinding:
    (found,) = findings((side("a", baseline), side("b", candidate)), margin=margin)
    return found


def test_differences_are_those_of_means_over_repeats_on_the_queries_that_both_have() -> None:
    ours, theirs = {"b": [1.0, 0.0], 3: 1.0, 1: 0.0, "only": 1.0}, {1: 1.0, 3: [0.0, 1.0], "b": 1.0, "other": 0.0}
    found = finding(ours, theirs)
    assert (found.n, found.baseline_mean, found.candidate_mean) == (3, 0.5, pytest.approx(2.5 / 3))
    assert found.difference == pytest.approx((0.5 - 0.5 + 1.0) / 3)
    assert (found.better, found.worse) == (("b", 1), (3,)), "in the order of the baseline"


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


def test_of_a_score_without_bounds_unseen_queries_differ_as_those_seen() -> None:
    sides = [side("a", dict.fromkeys(range(20), 30.0)), side("b", dict.fromkeys(range(20), 30.0) | {3: 10.0})]
    unbounded = [replace(one, bounded=frozenset(), quality=frozenset()) for one in sides]
    (found,) = findings((unbounded[0], unbounded[1]))
    assert -6 < found.interval.low < -1 < 2 < found.interval.high < 4
    assert any("no bounds are declared" in note for note in verdict_notes([found]))
    assert not any("no bounds are declared" in note for note in verdict_notes([replace(found, bounded=True)]))


FIGURES = {"n": 1, "difference": 0, "low": 0, "high": 0, "margin": 0, "p_adjusted": 1, "verdict": "worse"}


def words(**found: Any) -> str:
    return changes_text(finding_of("sopr_score", {**FIGURES, **found}))


def test_queries_that_changed_are_in_order_and_some_are_left_to_the_document() -> None:
    assert words(worse=[10, 2, "b", "a"], better=[7]) == "worse on tasks 2, 10, a, b; better on task 7"
    assert words(worse=[], better=[]) == ""
    many = words(worse=range(1030), better=[])
    assert many.endswith("18, 19 and 1,010 more (--json has all)")


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


ONES, ZEROS = dict.fromkeys(range(12), 1.0), dict.fromkeys(range(12), 0.0)


def twelve(name: str, values: Mapping[int, float] = ONES) -> Side:
    return side_of(name, values)


def compared(*sides: Side, **more: Any) -> dict[str, tuple[FrameworkComparison, ...]]:
    every = {side.name: side for side in sides}
    options = {"against": None, "margin": 0.05, **more}
    return compare_frameworks(every, **options)


def against(*sides: Side, **more: Any) -> dict[str, list[tuple[str, str]]]:
    found = compared(*sides, **more)
    return {name: [(one.kind, one.against) for one in comparisons] for name, comparisons in found.items()}


def test_every_framework_is_compared_with_the_reference() -> None:
    sides = [twelve("acme", ZEROS), twelve("reference"), twelve("other")]
    assert against(*sides) == {
        "acme": [("reference", "reference")],
        "reference": [],
        "other": [("reference", "reference")],
    }
    found = compared(*sides)
    finding = found["acme"][0].scores["sopr_score"]
    assert (finding.verdict, finding.worse) == ("worse", tuple(range(12)))
    assert found["other"][0].scores["sopr_score"].verdict == "identical"


def test_without_a_reference_the_first_is_the_one_unless_another_is_named() -> None:
    sides = [twelve("acme", ZEROS), twelve("other")]
    assert against(*sides)["other"] == [("reference", "acme")]
    assert against(*sides, against="other")["acme"] == [("reference", "other")]


def test_a_native_profile_is_also_compared_with_the_controlled_one() -> None:
    names = ("acme:native", "acme:controlled", "other:native", "acme:native==2")
    found = against(twelve("reference"), *map(twelve, names))
    assert found["acme:native"] == [("reference", "reference"), ("profile", "acme:controlled")]
    assert found["acme:controlled"] == found["other:native"] == found["acme:native==2"] == [("reference", "reference")]


def test_nothing_is_compared_with_a_row_that_is_void() -> None:
    cheat, others = replace(twelve("cheat"), void="strong answered"), (twelve("acme"), twelve("other"))
    assert against(cheat, *others) == {"cheat": [], "acme": [], "other": []}
    assert against(cheat, *others, against="acme")["other"] == [("reference", "acme")]
    assert against(cheat, *others, against="acme")["cheat"] == []


def test_the_baseline_can_be_named_by_the_framework_alone() -> None:
    assert chosen_baseline(["a", "acme:native==2"], "acme") == "acme:native==2"
    for against in ("acme", "nothing"):
        with pytest.raises(UsageError, match=f"--against: '{against}' is not one framework of the run: acme:native, a"):
            chosen_baseline(["acme:native", "acme:controlled"], against)


def test_a_framework_with_settings_of_its_own_is_compared_with_the_baseline_that_has_them() -> None:
    names = ("reference", "langgraph:native", "reference@large", "langgraph:native@large", "langgraph:native@odd")
    assert against(*map(twelve, names)) == {
        "reference": [],
        "langgraph:native": [("reference", "reference")],
        "reference@large": [("reference", "reference")],
        "langgraph:native@large": [("reference", "reference@large")],
        "langgraph:native@odd": [("reference", "reference")],
    }
