from __future__ import annotations

from collections.abc import Sequence

import pytest

from trialbed.records import Api, GoldCall, Query
from trialbed_selection.selectors import AllSelector, GoldSelector, QuerySelector

APIS = [
    Api(category="C", tool_name=tool, api_name=name, description=words)
    for tool, name, words in [
        ("SEO", "GetTopBacklinks", "Backlinks of a domain"),
        ("Weather", "forecast", "Tomorrow's weather for a city"),
        ("Weather", "current", "The weather now"),
        ("Finance", "quote", "Price of a share"),
    ]
]


def query(text: str = "?", apis: Sequence[Api] = (), gold: Sequence[Api] = ()) -> Query:
    calls = tuple(GoldCall(api=api.ref) for api in gold)
    return Query(query_id=1, text=text, apis=tuple(apis), gold_calls=calls)


def test_query_keeps_the_querys_order() -> None:
    chosen = QuerySelector().select(query(apis=APIS, gold=APIS[2:3]), max_tools=4)
    assert chosen == [api.ref for api in APIS]


@pytest.mark.parametrize("selector", [QuerySelector(), GoldSelector()])
def test_gold_stays_within_max_tools(selector: QuerySelector | GoldSelector) -> None:
    chosen = selector.select(query(apis=APIS, gold=[APIS[3], APIS[2]]), max_tools=2)
    assert set(chosen) == {APIS[3].ref, APIS[2].ref}


def test_query_fills_up_with_the_first_others() -> None:
    chosen = QuerySelector().select(query(apis=APIS, gold=APIS[3:]), max_tools=2)
    assert chosen == [APIS[3].ref, APIS[0].ref]


def test_gold_offers_nothing_else() -> None:
    assert list(GoldSelector().select(query(apis=APIS, gold=APIS[1:2]), max_tools=10)) == [APIS[1].ref]


def test_all_is_cut_in_the_datasets_order_without_favour() -> None:
    selector = AllSelector()
    selector.prepare(APIS)
    assert list(selector.select(query(apis=APIS, gold=APIS[3:]), max_tools=2)) == [api.ref for api in APIS[:2]]
    assert len(selector.select(query(), max_tools=99)) == len(APIS)
