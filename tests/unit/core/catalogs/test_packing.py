"""Queries that are packed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from support.scoring import gold_call

from trialbed.catalogs import StoredQueries, ids_of, pack_queries, pick_queries, queries_by_id
from trialbed.records import Api, Expected, Query


def each(count: int) -> Iterator[Query]:
    for number in range(count):
        yield Query(
            query_id=number if number % 2 else f"q{number}",
            text=f"Task {number}?",
            apis=(),
            gold_calls=(gold_call("a", x=number),),
            initial_state={"float": number / 7, "pair": (1, 2)},
            expected=Expected(only=True) if number % 500 == 3 else None,
        )


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed.catalogs._packing.FEW", 10)


def test_few_queries_stay_as_they_are() -> None:
    made = list(each(50))
    found = pack_queries(made)
    assert found == tuple(made)
    assert found[7] is made[7]


def test_many_queries_are_those_that_were_packed(few: None) -> None:
    made = list(each(1_100))
    found = pack_queries(iter(made))
    assert isinstance(found, StoredQueries)
    assert list(found) == made
    assert (found[-1], found[40]) == (made[-1], made[40])
    assert type(found[40].initial_state["pair"]) is tuple
    assert list(ids_of(found)) == [query.query_id for query in made]
    assert queries_by_id(found, [3, "q8"])["q8"] == made[8]
    assert [query.query_id for query in found.expecting()] == [3, 503, 1003]


def test_in_another_order_each_query_is_unpacked_alone(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [*each(1_100)]
    order = random.Random(1).sample(range(1_100), 1_100)
    shuffled = pick_queries(pack_queries(made), order)
    restore, unpacked = Query.__setstate__, Counter[int | str]()

    def counted(query: Query, state: dict[Any, Any]) -> None:
        restore(query, state)
        unpacked[query.query_id] += 1

    monkeypatch.setattr(Query, "__setstate__", counted)
    assert list(shuffled) == [made[place] for place in order]
    assert sum(unpacked.values()) <= len(made)


def test_queries_with_the_same_apis_have_them_back(few: None) -> None:
    lamp, chair = (Api(category="shop", tool_name="shop", api_name=name) for name in ("lamp", "chair"))
    offers = ((lamp, chair), (chair,), (), (chair, lamp))
    made = [query.model_copy(update={"apis": offers[place % 4]}) for place, query in enumerate(each(100))]
    found = pack_queries(made)
    assert list(found) == made
    assert found[0].apis is found[28].apis


def test_a_state_that_cannot_be_packed_stays_as_it_is(few: None) -> None:
    made = [query.model_copy(update={"initial_state": lambda: 1}) for query in each(70)]
    found = pack_queries(made)
    assert found[33] is made[33]
    assert list(found) == made
