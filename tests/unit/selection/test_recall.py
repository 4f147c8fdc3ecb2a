from __future__ import annotations

from collections.abc import Sequence

import pytest

from trialbed.contracts import ToolSelector
from trialbed.records import ApiRef, GoldCall, Query
from trialbed_selection.recall import rankings, recall_at, summarize_recall
from trialbed_selection.tools import ChosenApi, ExplainedSelector

A, B, C, D = (ApiRef(category="c", tool_name="t", api_name=name) for name in "ABCD")


class Fixed(ToolSelector):
    def __init__(self, *refs: ApiRef) -> None:
        self.refs = refs

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        return self.refs[:max_tools]


def query(number: int, *gold: ApiRef) -> Query:
    return Query(query_id=number, text="?", apis=(), gold_calls=tuple(GoldCall(api=ref) for ref in gold))


def test_recall_is_the_share_of_gold_among_the_first() -> None:
    assert [recall_at([A, B, C], [C, A], k) for k in (1, 2, 3, 9)] == [0.5, 0.5, 1, 1]
    assert recall_at([], [A], 5) == 0


def test_measures_are_means_over_queries_by_test_set_and_over_all() -> None:
    queries = {"one": [query(1, A), query(2, A, D), query(3)], "two": [query(1, D)]}
    found = list(rankings(Fixed(A, B, C, D), queries, 2))
    assert [item.ranking for item in found] == [(A, B)] * 3
    one, two, every = summarize_recall(found, (1, 2))
    assert (one["test_set"], one["queries"], one["gold_apis"]) == ("one", 2, 3)
    assert one["at"]["1"]["recall"]["value"] == 0.75
    assert one["at"]["2"]["coverage"]["value"] == 0.5
    assert two["at"]["2"]["recall"] == {"value": 0, "low": 0, "high": pytest.approx(0.793, abs=0.01), "n": 1}
    assert (every["test_set"], every["queries"], every["at"]["1"]["recall"]["n"]) == (None, 3, 3)
    assert every["at"]["1"]["recall"]["value"] == 0.5


class HalfNamed(ExplainedSelector):
    """Its model names one tool, and the others fill up."""

    def choices(self, query: Query, *, max_tools: int) -> list[ChosenApi]:
        named = [ChosenApi(api=A, by="model")]
        return [*named, *(ChosenApi(api=ref, by="words", topped_up=True) for ref in (B, C, D))][:max_tools]


def test_it_says_what_share_of_the_tools_a_model_did_not_name() -> None:
    (row,) = summarize_recall(list(rankings(HalfNamed(), {"one": [query(1, A), query(2, B)]}, 4)), (1, 2, 4))
    assert row["topped_up"] == {"1": 0, "2": 0.5, "4": 0.75}
    (row,) = summarize_recall(list(rankings(Fixed(A), {"one": [query(1, A)]}, 1)), (1,))
    assert row["topped_up"] == {"1": 0}
