"""The words of a comparison."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from support.run_reports import finding

from trialbed.report.comparison import changes_text, finding_notes, verdict_notes

FIGURES = {"n": 1, "difference": 0, "low": 0, "high": 0, "margin": 0, "p_adjusted": 1, "verdict": "worse"}


def words(**found: Any) -> str:
    return changes_text(finding("sopr_score", {**FIGURES, **found}))


def test_queries_that_changed_are_in_order_and_some_are_left_to_the_document() -> None:
    assert words(worse=[10, 2, "b", "a"], better=[7]) == "worse on queries 2, 10, a, b; better on query 7"
    assert words(worse=[], better=[]) == ""
    many = words(worse=range(1030), better=[])
    assert many.endswith("18, 19 and 1,010 more (--json has all)")


def test_one_comparison_is_adjusted_over_none() -> None:
    def notes(*comparisons: int) -> list[str]:
        one = finding("sopr_score", {**FIGURES, "worse": [1], "better": []})
        found = [replace(one, comparisons=number) for number in comparisons]
        return [*finding_notes(found), *verdict_notes(found)]

    test = "p: McNemar's exact or a paired permutation test"
    assert notes(1) == [f"{test}; better and worse are below 0.05."]
    several = "over the 2 comparisons made at once"
    assert notes(2, 2) == [
        f"p is adjusted {several}.",
        f"{test}, adjusted by Holm's method {several}; better and worse are below 0.05.",
    ]
