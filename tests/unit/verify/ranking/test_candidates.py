"""Candidates, and their ranks by metric."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbed.statistics import Estimate, Interval
from trialbed_verify.ranking import METRICS, Gates, average_ranks, rank
from trialbed_verify.tables import ranking_tables


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


def test_the_gates_can_be_set(candidate: Any) -> None:
    vendors = (candidate("a", success_rate=0.95), candidate("b", f1=0.7))
    assert names(standing(*vendors)["ranked"]) == ["a", "b"]
    assert names(standing(*vendors, min_success=0.99)["not_ranked"]) == ["a"]
    assert names(standing(*vendors, min_f1=0.75)["behind"]) == ["b"]


@pytest.mark.parametrize(
    ("value", "low", "fails"), [(0.02, -0.01, True), (0.02, 0.0, True), (0.02, 0.001, False), (-0.3, -0.31, True)]
)
def test_better_than_chance_has_to_be_shown(candidate: Any, value: float, low: float, fails: bool) -> None:
    excess = Estimate(value, Interval(low, value + 0.05, 0.9))
    columns = dict.fromkeys(METRICS, (np.ones(4), np.ones(4)))
    measured = replace(candidate("acme", f1=0.4), columns=columns, excess=excess)
    exempt = replace(measured, is_baseline=True), replace(measured, excess=None)
    assert [names(standing(one)["behind"]) for one in (measured, *exempt)] == [["acme"] * fails, [], []]


VALUES = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=12)


@given(VALUES, st.booleans())
def test_average_ranks_are_those_of_sorting(values: list[float], more_is_better: bool) -> None:
    ordered = sorted(values, reverse=more_is_better)
    expected = [
        sum(place for place, other in enumerate(ordered, 1) if other == value) / ordered.count(value)
        for value in values
    ]
    assert average_ranks(np.array(values), more_is_better=more_is_better).tolist() == expected
    assert sum(expected) == len(values) * (len(values) + 1) / 2


def test_less_is_better_for_times_and_tokens(candidate: Any) -> None:
    for metric in ("ttft_ms", "avg_token"):
        good, bad = rank([candidate("bad", **{metric: 2000.0}), candidate("good")]).models["m"].ranked
        assert (good.vendor, good.ranks[metric], bad.ranks[metric]) == ("good", 1, 2)


UNSTREAMED = {"tps": None, "ttft_ms": None}


def test_times_that_a_vendor_lacks_do_not_count(candidate: Any) -> None:
    vendors = [
        candidate("a", **UNSTREAMED),
        candidate("b", f1=0.9, **UNSTREAMED),
        candidate("dead", success_rate=0.0, f1=None, schema_accuracy=None, avg_token=None),
        candidate("inverted", f1=0.1, avg_token=None),
    ]
    ranking = rank(vendors)
    found = ranking.as_json()
    assert found["metrics"] == ["success_rate", "f1", "schema_accuracy", "avg_token"]
    (standing,) = found["models"]
    assert [names(standing[key]) for key in ("ranked", "behind", "not_ranked")] == [
        ["b", "a"],
        [],
        ["dead", "inverted"],
    ]
    assert "Not ranked by tokens/s; missing for a (m), b (m)" in found["notes"]
    assert any("TTFT" in note and "--stream" in note for note in found["notes"])
    title = ranking_tables(ranking)[0].title
    assert title == "m: ranked over 4 of six metrics"


def test_chosen_metrics_alone_count(candidate: Any) -> None:
    fast, exact = candidate("fast", tps=99.0, f1=0.7), candidate("exact")
    assert names(rank([fast, exact], metrics=("tps",)).as_json()["models"][0]["ranked"]) == ["fast", "exact"]
    assert names(rank([fast, exact], metrics=("f1",)).as_json()["models"][0]["ranked"]) == ["exact", "fast"]
    assert rank([fast, exact]).as_json()["metrics"] == list(METRICS)
