"""Large files of queries, which are not kept in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.catalogs import StoredQueries, expecting_queries, ids_of, pick_queries, queries_by_id
from trialbed.contracts import Dataset
from trialbed.errors import DataError
from trialbed.records import Query
from trialbed_plugins.datasets.file import open_file

PART = "trialbed_plugins.datasets._reading.PART"
LARGE = "trialbed_plugins.datasets.file.LARGE"


def content(number: int) -> dict[str, Any]:
    apis = [{"category": "C", "tool_name": f"tool_{one}", "api_name": "get"} for one in (number % 3, 3)]
    expected = {"most_calls": 2} if number == 4 else None
    query_id = number if number % 2 else f"q{number}"
    return {"query_id": query_id, "text": f"Größe {number}? 1e5", "apis": apis, "expected": expected}


def source(number: int) -> dict[str, Any]:
    pair = [f"tool {number % 3}", "get"]
    apis = [
        {"category_name": "C", "tool_name": name, "api_name": "get", "method": None, "more": 1}
        for name in (pair[0], "other")
    ]
    query_id = number if number % 2 else f"q{number}"
    return {"query": f"Größe {number}?", "query_id": query_id, "api_list": apis, "relevant APIs": [pair]}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIALBED_INDEX_DIR", str(tmp_path / "indexes"))
    path = tmp_path / "file.json"
    queries = [content(number) for number in range(9)]
    path.write_text(json.dumps({"queries": queries, "name": "Name"}, ensure_ascii=False, indent=1), "utf-8")
    return path


@pytest.fixture
def listed(path: Path) -> Path:
    """A list of queries as StableToolBench has them."""
    place = path.with_name("G1.json")
    place.write_text(json.dumps([source(number) for number in range(9)], ensure_ascii=False, indent=1), "utf-8")
    return place


def opened(path: Path, monkeypatch: pytest.MonkeyPatch, large: int) -> Dataset:
    monkeypatch.setattr(LARGE, large)
    return open_file(path)


def test_a_large_file_is_the_dataset_that_a_small_one_is(
    path: Path, listed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, name in ((path, "Name"), (listed, "G1")):
        small = opened(place, monkeypatch, 2**40)
        for large in (opened(place, monkeypatch, 0), opened(place, monkeypatch, 0)):  # read, and found again
            assert isinstance(large.queries(), StoredQueries)
            assert (large.name, large.test_set, large.digest()) == (name, small.test_set, small.digest())
            assert tuple(large.queries()) == tuple(small.queries())
            assert large.apis() == small.apis()


def test_a_list_is_named_for_the_file_that_it_is_in_now(listed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(listed, monkeypatch, 0)
    assert opened(listed.rename(listed.with_name("other.json")), monkeypatch, 0).name == "other"
    with pytest.raises(DataError, match="results are named after it"):
        opened(listed.with_name("other.json").rename(listed.with_name("+.json")), monkeypatch, 0)


def test_an_edited_file_is_another_dataset_and_the_open_one_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = opened(path, monkeypatch, 0)
    path.write_text(path.read_text("utf-8").replace("Größe", "Maß"), "utf-8")
    after = opened(path, monkeypatch, 0)
    assert after.digest() != before.digest()
    assert after.queries()[8].text == "Maß 8? 1e5"
    path.unlink()
    assert before.queries()[8].text == "Größe 8? 1e5"


def test_a_file_that_changes_while_it_is_read_is_not_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, query_json = path.read_text("utf-8"), Query.identity_json

    def edit(query: Query) -> str:
        path.write_text(text.replace("Größe", "Maß"), "utf-8")
        return query_json(query)

    with monkeypatch.context() as patch:
        patch.setattr(Query, "identity_json", edit)
        with pytest.raises(DataError, match=r"file\.json: has changed while it was read"):
            opened(path, patch, 0)
    path.write_text(text, "utf-8")
    assert opened(path, monkeypatch, 0).queries()[8].text == "Größe 8? 1e5"


def test_a_damaged_database_is_made_again(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = tuple(opened(path, monkeypatch, 0).queries())
    (database,) = (tmp_path / "indexes").rglob("*.db")
    whole = database.read_bytes()
    for damaged in (b"", b"{", whole[:500], whole[:4096] + b"x" * 4096):
        database.write_bytes(damaged)
        assert tuple(opened(path, monkeypatch, 0).queries()) == before
        assert tuple(opened(path, monkeypatch, 0).queries()) == before


def test_a_large_file_is_read_where_nothing_can_be_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setenv("TRIALBED_INDEX_DIR", str(tmp_path / "taken"))
    assert len(tuple(opened(path, monkeypatch, 0).queries())) == 9


def test_only_the_databases_that_were_used_last_are_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = opened(path, monkeypatch, 0)
    for number in range(8):
        path.write_text(path.read_text("utf-8").replace("Größe", f"Größe {number}"), "utf-8")
        opened(path, monkeypatch, 0)
    assert len(list((tmp_path / "indexes").rglob("*.db"))) == 5
    assert len(tuple(first.queries())) == 9


def test_a_file_is_opened_many_times_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LARGE, 0)
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: open_file(path).queries()[8], range(8)))) == 1


@for_each(
    ("before", "after"),
    [
        ('"query_id": 3', '"query_id": 1'),
        ('"most_calls": 2', '"most": 2'),
        ('"name": "Name"', '"name": "/"'),
        ('"name": "Name"', '"name": "Name", "x": 1'),
        ('"query_id": 3', '"query_id": x'),
    ],
)
def test_a_fault_of_a_large_file_is_named_as_that_of_a_small_one(
    path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> None:
    whole = path.read_text("utf-8")
    assert before in whole
    path.write_text(whole.replace(before, after, 1), "utf-8")
    messages = []
    for large in (0, 2**40):
        with pytest.raises(DataError) as error:
            opened(path, monkeypatch, large)
        messages.append(str(error.value))
    path.write_text(whole, "utf-8")
    assert messages[0] == messages[1]


@given(
    st.lists(st.dictionaries(st.text(), st.recursive(st.integers() | st.text(), st.lists, max_leaves=5)), max_size=4),
    st.integers(1, 40),
    st.booleans(),
)
def test_queries_are_found_wherever_the_parts_end_in_which_a_file_is_read(
    tmp_path_factory: pytest.TempPathFactory, states: Sequence[Any], part: int, ascii_only: bool
) -> None:
    path = tmp_path_factory.mktemp("parts") / "file.json"
    queries = [
        {"query_id": place, "text": "?", "apis": [], "initial_state": state} for place, state in enumerate(states)
    ]
    path.write_bytes(json.dumps({"name": "n", "queries": queries}, ensure_ascii=ascii_only).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PART, part)
        assert [query.initial_state for query in open_file(path).queries()] == states


def test_queries_are_read_when_they_are_looked_at(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = opened(path, monkeypatch, 0).queries()
    assert isinstance(every, StoredQueries)
    read: list[int] = []

    def count(place: int) -> Query:
        read.append(place)
        return every[place]

    queries = StoredQueries(count, every.ids, [4])
    chosen = pick_queries(queries, [7, 4, 1])[:2]
    assert ids_of(chosen) == (7, "q4")
    by_id = queries_by_id(queries, ["q4", 7])
    assert (list(by_id), len(by_id), 3 in by_id, 7 in by_id) == (["q4", 7], 2, False, True)
    assert read == []
    assert [query.query_id for query in expecting_queries(chosen)] == ["q4"]
    assert by_id[7].query_id == by_id[7].query_id == 7
    assert read == [4, 7]


def test_a_query_that_is_missing_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for large in (0, 2**40):
        with pytest.raises(KeyError):
            queries_by_id(opened(path, monkeypatch, large).queries(), [1, 3, 99])


BETWEEN = r"\},(\s*\{\s*.query)"


@for_each(
    ("pattern", "replacement", "message"),
    [
        (r".more.: 1", r'"more": 1e999', "the number 1e999 is too large"),
        (r".most_calls.: 2", r'"most_seconds": 1e999', "the number 1e999 is too large"),
        (r"(more.|most_calls.): .", r"\1: NaN", "NaN is not JSON"),
        (BETWEEN, r"}\1", "Expecting ',' or ']'"),
        (BETWEEN, r"},,\1", "Expecting value"),
        (BETWEEN, r"}, nul,\1", "Expecting value"),
        (r"\}(\s*\](?:,\s*.name.[^}]*\})?\Z)", r"},\1", "Expecting value"),
        (r"\Z", "x", "Extra data"),
        (r".\Z", "", "Expecting ',' or"),
        (r".{250}\Z", "", "Unterminated string|Expecting"),
        ('"name": ', '"name" ', "Expecting ':'"),
        ('"name": ', "name: ", "Expecting property name"),
        ('"queries": ', "queries: ", "Expecting property name"),
        (r"\](,\s*.name)", r"]]\1", "Expecting ',' or '}'"),
        ('"name": ', '"queries": [], "name": ', "the key 'queries' occurs twice"),
        ('"name": ', '"x": ' + "[" * 200_000 + ', "name": ', "nested too deeply"),
    ],
)
def test_a_file_that_is_not_json_is_an_error_with_the_same_place_wherever_parts_end(
    path: Path, listed: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, replacement: str, message: str
) -> None:
    found = 0
    for place in (path, listed):
        whole = place.read_text("utf-8")
        for text in (whole, json.dumps(json.loads(whole), ensure_ascii=False)):
            place.write_text(re.sub(pattern, replacement, text, count=1, flags=re.DOTALL), "utf-8")
            if place.read_text("utf-8") == text:
                continue
            found += 1
            messages = set()
            for part in (7, 40, 2**20):
                monkeypatch.setattr(PART, part)
                with pytest.raises(
                    DataError, match=rf"is not valid JSON: .*(?:{message}).*line \d+ column \d+$"
                ) as error:
                    open_file(place)
                messages.add(str(error.value))
            assert len(messages) == 1
        place.write_text(whole, "utf-8")
    assert found >= 1
