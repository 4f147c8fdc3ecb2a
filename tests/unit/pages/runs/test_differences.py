"""The table of the differences between frameworks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from trialbed.report.comparison import ScoreFinding
from trialbed.statistics import Interval, Pilot
from trialbed_pages.runs.run import Differences

ANY: Any = None

FINDING = ScoreFinding(
    baseline="reference",
    candidate="a",
    score="sopr_score",
    n=6,
    baseline_mean=1.0,
    candidate_mean=0.0,
    difference=-1.0,
    interval=Interval(-1.0, -0.2, 0.95),
    p=0.03,
    p_adjusted=0.125,
    margin=0.05,
    better=(),
    worse=(1, 2, 3, 4, 5, 6),
    pilot=Pilot.of([-1.0, 0.0]),
)


def test_scores_with_the_same_figures_share_a_row() -> None:
    other = replace(FINDING, candidate="b", difference=0.0, interval=Interval(-0.4, 0.4, 0.95), worse=())
    calls = [replace(one, score="api_call_score") for one in (FINDING, replace(other, n=5))]
    found = Differences(ANY, "reference", [FINDING, other, *calls], {})
    assert [(scores, one.candidate, one.n) for scores, one in found.rows] == [
        (["sopr_score", "api_call_score"], "a", 6),
        (["sopr_score"], "b", 6),
        (["api_call_score"], "b", 5),
    ]
