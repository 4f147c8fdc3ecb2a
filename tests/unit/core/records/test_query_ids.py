import pickle
import sys

import pytest
from pydantic import ValidationError
from support.cases import for_each
from support.trials import run_config, run_of

from trialbed.records import QueryIds, Record, Run

LISTS = [(), (7,), (0, 1, 2), (3, 1, 2), (-2, -1, 0), (5, "5", 6), ("a", "b"), (1, 2, 3, 7, "b", 9, 10), (2**70, 1)]


class Named(Record):
    ids: QueryIds


@for_each("ids", LISTS)
def test_ids_are_a_sequence_with_a_place_of_each(ids: tuple[int | str, ...]) -> None:
    found = QueryIds(ids)
    assert tuple(found) == ids
    assert (found, len(found)) == (ids, len(ids))
    assert [found[place] for place in range(len(ids))] == list(ids)
    assert found[1:] == ids[1:]
    assert found.at(reversed(range(len(ids)))) == ids[::-1]
    assert dict(found.places) == {query_id: place for place, query_id in enumerate(ids)}
    assert pickle.loads(pickle.dumps(found)) == found == QueryIds(found)


def test_5_and_its_text_differ_and_others_are_not_there() -> None:
    row, mixed = QueryIds(range(4, 8)), QueryIds((5, "6"))
    assert 5 in row
    assert "5" not in row
    assert 5 in mixed
    assert 6 not in mixed
    for ids in (row, mixed):
        with pytest.raises(KeyError, match="8"):
            ids.places[8]
        assert ids.places.get("5") is None
    assert row != QueryIds(("4", "5", "6", "7"))
    assert row != (4, 5, 6)
    assert row != "4567"


def test_numbers_in_a_row_are_ranges_and_others_are_as_they_are() -> None:
    assert list(QueryIds((1, 2, 3, 7, "b", 9, 10, -2, -1, 0, 1)).rows()) == [
        range(1, 4), 7, "b", range(9, 11), -2, -1, range(2)
    ]  # fmt: skip
    assert list(QueryIds(range(3)).rows()) == [range(3)]
    assert list(QueryIds(range(-1, 2)).rows()) == [-1, range(2)]
    assert list(QueryIds((4,)).rows()) == [4]
    assert not list(QueryIds().rows())


@for_each("ids", [*LISTS, range(5_000), ("a", *range(10, 2_000), "b", 4, 5)])
def test_a_record_is_read_back_from_all_ids_and_from_pairs(ids: tuple[int | str, ...]) -> None:
    record = Named(ids=ids)
    assert record.ids == tuple(ids)
    assert Named.model_validate_json(record.model_dump_json()) == record
    assert Named.model_validate({"ids": record.ids.as_list}) == record
    assert record.model_dump() == {"ids": tuple(ids)}
    assert record.model_dump(mode="json") == {"ids": list(ids)}


def test_short_lists_are_written_as_they_are_and_long_ranges_as_pairs() -> None:
    assert QueryIds((3, 4, 5, "a")).as_list == [3, 4, 5, "a"]
    assert QueryIds(range(999)).as_list == list(range(999))
    assert QueryIds(("a", *range(1_000), "b")).as_list == ["a", [0, 999], "b"]


@for_each("given", [[1.5], [None], [[1, 2, 3]], "12", [["a", 2]], 7])
def test_other_values_are_no_ids(given: object) -> None:
    with pytest.raises(ValidationError):
        Named.model_validate({"ids": given})


def test_numbers_in_a_row_take_no_memory_and_others_eight_bytes_each() -> None:
    assert sys.getsizeof(QueryIds(range(100_000))._ids) < 100
    assert sys.getsizeof(QueryIds(range(0, 200_000, 2))._ids) < 950_000


def test_a_run_is_read_back_from_its_short_form() -> None:
    run = run_of(run_config(query_ids=range(2_000)))
    short = run.in_short()
    assert short["config"]["query_ids"] == [[0, 1_999]]
    assert Run.model_validate(short) == run
    assert list(short) == list(run.model_dump(mode="json"))
    assert run.in_short({"tags"}).keys() == short.keys() - {"tags"}
