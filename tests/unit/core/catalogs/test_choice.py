"""Slices of a dataset."""

from __future__ import annotations

from pathlib import Path

import pytest

from trialbed.catalogs import choose_queries, open_dataset
from trialbed.errors import UsageError
from trialbed.records import Api, GoldCall, Query
from trialbed.tasks import write_queries

APIS = tuple(Api(category=name, tool_name="t", api_name="a", description="") for name in ("Weather", "Finance", "Food"))


class Few:
    """A dataset of six numbered queries, and two with names."""

    test_set = "few"

    def queries(self) -> list[Query]:
        """Each needs one Api, in turn, and is offered all; the last one needs none."""
        named = [*range(1, 7), "2-3"]
        found = [
            Query(query_id=name, text="?", apis=APIS, gold_calls=(GoldCall(api=APIS[place % 3].ref),))
            for place, name in enumerate(named)
        ]
        return [*found, Query(query_id="none", text="?", apis=APIS[2:])]


def ids(*wanted: str, limit: int | None = None, **more: object) -> list[int | str]:
    return [query.query_id for query in choose_queries(Few(), limit, wanted, **more)]  # type: ignore[arg-type]


def test_a_range_has_the_numbers_between_its_ends_and_ids_stand_beside_it() -> None:
    assert ids("4-9") == [4, 5, 6]
    assert ids("1", "5-6", "none") == [1, 5, 6, "none"]
    assert ids("2-3") == ["2-3"], "an id is itself"
    assert ids("1-100", limit=2) == [1, 2]


@pytest.mark.parametrize("wanted", ["9", "7-9", "6-4", "1-", "a-b", "1-" + "9" * 50])
def test_what_is_not_there_is_refused(wanted: str) -> None:
    with pytest.raises(UsageError, match="--query-id: few has no task"):
        ids(wanted)


def test_a_category_has_the_queries_that_need_it_or_are_offered_it_where_none_is_right() -> None:
    assert ids(only_tags=("finance",)) == [2, 5]
    assert ids(only_tags=("Food",)) == [3, 6, "none"]
    assert ids("1-3", only_tags=("Food", "Weather")) == [1, 3]


def test_a_tag_has_the_queries_with_it(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text('{"query": "a", "tags": ["Billing", "hard"]}\n{"query": "b", "tags": "hard"}\n{"query": "c"}\n')
    dataset = open_dataset(str(path), tmp_path)
    chosen = [choose_queries(dataset, None, (), wanted) for wanted in [("billing",), ("hard",)]]
    assert [[query.query_id for query in queries] for queries in chosen] == [[1], [1, 2]]
    with pytest.raises(UsageError, match=r"--only-tag: tasks has no task with the tag 'easy'.* Billing, hard$"):
        choose_queries(dataset, None, (), ("easy",))
    copy = open_dataset(str(write_queries(dataset.queries(), "tasks", tmp_path)), tmp_path)
    assert [query.tags for query in copy.queries()] == [("Billing", "hard"), ("hard",), ()]


def test_a_category_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match=r"'FINANZE'; did you mean 'Finance'\?.* Finance, Food, Weather"):
        ids(only_tags=("FINANZE",))


def test_an_order_is_drawn_by_its_number_and_a_larger_limit_adds_to_it() -> None:
    every = ids()
    drawn = ids(shuffle=1)
    assert sorted(map(str, drawn)) == sorted(map(str, every))
    assert ids(shuffle=1, limit=5) == drawn[:5] != every[:5]
    assert ids(shuffle=2) != drawn == ids(shuffle=1)
    assert ids("1-3", shuffle=1) == [query_id for query_id in drawn if query_id in (1, 2, 3)]
