from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from trialbed.statistics import Estimate, Interval
from trialbed_verify.ranking import METRICS, Gates, rank


def standing(*candidates: Any, **gates: Any) -> dict[str, Any]:
    (found,) = rank(candidates, Gates(**gates)).as_json()["models"]
    return dict(found)


def names(rows: list[dict[str, Any]]) -> list[str]:
    return [row["vendor"] for row in rows]


def test_a_dead_vendor_ranks_nowhere(candidate: Any) -> None:
    """As other tools write it: 0 for everything, which is best in tokens and times, and an F1 of 1."""
    dead = candidate("dead", success_rate=0.0, f1=1.0, tps=None, schema_accuracy=0.0, ttft_ms=None, avg_token=None)
    found = standing(candidate("good"), dead)
    assert names(found["ranked"]) == ["good"]
    assert names(found["not_ranked"]) == ["dead"]
    assert found["not_ranked"][0]["reasons"] == [
        "no figure for tokens/s, TTFT, tokens",
        "success rate 0.0000 is below 0.9",
    ]
    assert found["not_ranked"][0]["rank"] is None


def test_a_vendor_with_inverted_decisions_ranks_last_however_fast(candidate: Any) -> None:
    fast = candidate("inverted", f1=0.15, tps=500.0, ttft_ms=10.0, avg_token=100.0, schema_accuracy=1.0)
    found = standing(fast, candidate("good"), candidate("slow", tps=1.0, ttft_ms=9000.0))
    assert names(found["ranked"]) == ["good", "slow"]
    (last,) = found["behind"]
    assert (last["vendor"], last["rank"], last["tie"]) == ("inverted", 3, False)
    assert last["reasons"] == ["F1 0.1500 is below 0.5"]
    assert last["irf"] is None


def test_those_that_come_last_tie_there(candidate: Any) -> None:
    found = standing(candidate("good"), candidate("b", f1=0.1), candidate("c", f1=0.4))
    assert [(row["vendor"], row["rank"], row["tie"]) for row in found["behind"]] == [("b", 2, True), ("c", 2, True)]


def test_who_is_not_ranked_changes_nobodys_score(candidate: Any) -> None:
    alone = standing(candidate("a"), candidate("b", f1=0.9))
    among = standing(
        candidate("a"), candidate("b", f1=0.9), candidate("c", success_rate=0.5), candidate("d", f1=0.2, tps=999.0)
    )
    assert [row["irf_exact"] for row in among["ranked"]] == [row["irf_exact"] for row in alone["ranked"]]


@pytest.mark.parametrize("metric", list(METRICS))
def test_a_metric_that_is_asked_for_and_missing_is_no_rank(candidate: Any, metric: str) -> None:
    vendors = [candidate("good"), candidate("gap", **{metric: None})]
    (found,) = rank(vendors, metrics=tuple(METRICS)).as_json()["models"]
    assert names(found["ranked"]) == ["good"]
    assert found["not_ranked"][0]["reasons"] == [f"no figure for {METRICS[metric].label.removesuffix(', ms')}"]
    of_quality = metric in ("success_rate", "f1", "schema_accuracy")
    assert (names(standing(*vendors)["not_ranked"]) == ["gap"]) is of_quality


def test_the_gates_can_be_set(candidate: Any) -> None:
    vendors = (candidate("a", success_rate=0.95), candidate("b", f1=0.7))
    assert names(standing(*vendors)["ranked"]) == ["a", "b"]
    assert names(standing(*vendors, min_success=0.99)["not_ranked"]) == ["a"]
    assert names(standing(*vendors, min_f1=0.75)["behind"]) == ["b"]


def test_nobody_eligible_is_an_empty_ranking(candidate: Any) -> None:
    found = standing(candidate("a", success_rate=0.1), candidate("b", f1=None))
    assert found["ranked"] == []
    assert names(found["not_ranked"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "low", "fails"), [(0.02, -0.01, True), (0.02, 0.0, True), (0.02, 0.001, False), (-0.3, -0.31, True)]
)
def test_better_than_chance_has_to_be_shown(candidate: Any, value: float, low: float, fails: bool) -> None:
    excess = Estimate(value, Interval(low, value + 0.05, 0.9))
    columns = dict.fromkeys(METRICS, (np.ones(4), np.ones(4)))
    measured = replace(candidate("acme", f1=0.4), columns=columns, excess=excess)
    exempt = replace(measured, is_baseline=True), replace(measured, excess=None)
    assert [names(standing(one)["behind"]) for one in (measured, *exempt)] == [["acme"] * fails, [], []]


def test_equal_vendors_tie(candidate: Any) -> None:
    found = standing(candidate("a"), candidate("b"), candidate("c", tps=1.0))
    assert [(row["vendor"], row["rank"], row["tie"]) for row in found["ranked"]] == [
        ("a", 1, True),
        ("b", 1, True),
        ("c", 3, False),
    ]


def test_a_table_has_no_intervals_and_says_so(candidate: Any) -> None:
    document = rank([candidate("a"), candidate("b")]).as_json()
    assert document["resamples"] is None
    assert "need result files" in document["notes"][0]
    assert document["models"][0]["ranked"][0]["rank_low"] is None
    assert document["models"][0]["ranked"][0]["tied_with"] is None
