"""Large files of queries, which are not kept in memory."""

from __future__ import annotations

import gc
import io
import json
import os
import re
from collections.abc import Sequence
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
from trialbed_plugins.datasets import _indexed, _scanning, file
from trialbed_plugins.datasets._scanning import each_query
from trialbed_plugins.datasets.file import open_file


def content(number: int) -> dict[str, Any]:
    apis = [{"category": "C", "tool_name": f"tool_{one}", "api_name": "get"} for one in (number % 3, 3)]
    expected = {"most_calls": 2} if number == 4 else None
    query_id = number if number % 2 else f"q{number}"
    return {"query_id": query_id, "text": f"Größe {number}? 1e5", "apis": apis, "expected": expected}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIALBED_INDEX_DIR", str(tmp_path / "indexes"))
    path = tmp_path / "file.json"
    queries = [content(number) for number in range(9)]
    path.write_text(json.dumps({"queries": queries, "name": "Name"}, ensure_ascii=False, indent=1), "utf-8")
    return path


def opened(path: Path, monkeypatch: pytest.MonkeyPatch, large: int) -> Dataset:
    monkeypatch.setattr(file, "LARGE", large)
    return open_file(path)


def source(number: int) -> dict[str, Any]:
    pair = [f"tool {number % 3}", "get"]
    apis = [
        {"category_name": "C", "tool_name": name, "api_name": "get", "method": None, "more": 1}
        for name in (pair[0], "other")
    ]
    query_id = number if number % 2 else f"q{number}"
    return {"query": f"Größe {number}?", "query_id": query_id, "api_list": apis, "relevant APIs": [pair]}


@pytest.fixture
def listed(path: Path) -> Path:
    """A list of queries as StableToolBench has them."""
    place = path.with_name("G1.json")
    place.write_text(json.dumps([source(number) for number in range(9)], ensure_ascii=False, indent=1), "utf-8")
    return place


def test_a_large_file_is_the_dataset_that_a_small_one_is(
    path: Path, listed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, name in ((path, "Name"), (listed, "G1")):
        small = opened(place, monkeypatch, 2**40)
        for large in (opened(place, monkeypatch, 0), opened(place, monkeypatch, 0)):  # by an index made, and kept
            assert isinstance(large.queries(), StoredQueries)
            assert (large.name, large.test_set, large.digest()) == (name, small.test_set, small.digest())
            assert tuple(large.queries()) == tuple(small.queries())
            assert large.apis() == small.apis()


def test_a_list_is_named_for_the_file_that_it_is_in_now(listed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(listed, monkeypatch, 0)
    assert opened(listed.rename(listed.with_name("other.json")), monkeypatch, 0).name == "other"
    with pytest.raises(DataError, match="results are named after it"):
        opened(listed.with_name("other.json").rename(listed.with_name("+.json")), monkeypatch, 0)


def test_another_file_in_its_place_is_indexed_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = opened(path, monkeypatch, 0)
    path.write_text(path.read_text("utf-8").replace("Größe", "Maß"), "utf-8")
    after = opened(path, monkeypatch, 0)
    assert after.digest() != before.digest()
    assert after.queries()[8].text == "Maß 8? 1e5"
    with pytest.raises(DataError, match=r"file\.json: has changed since it was opened"):
        list(before.queries())


def test_an_edit_of_the_same_length_is_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = opened(path, monkeypatch, 0).queries()
    path.write_text(path.read_text("utf-8").replace("Größe 8", "Menge 8 "), "utf-8")
    assert before[7].text == "Größe 7? 1e5"
    with pytest.raises(DataError, match=r"file\.json: has changed since it was opened"):
        before[8]


def test_a_file_that_is_replaced_or_deleted_is_read_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = opened(path, monkeypatch, 2**40), opened(path, monkeypatch, 0)
    other = path.with_name("other.json")
    other.write_text("{}")
    other.replace(path)
    assert large.queries()[8] == small.queries()[8]
    path.unlink()
    assert tuple(large.queries()) == tuple(small.queries())


def descriptors_of(path: Path) -> int:
    """Count the open descriptors of a file; others of the process come and go beside it."""
    named = (Path(f"/dev/fd/{descriptor}") for descriptor in os.listdir("/dev/fd"))
    return sum(descriptor.exists() and descriptor.samefile(path) for descriptor in named)


def test_datasets_of_one_file_share_its_descriptor(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [opened(path, monkeypatch, 0) for _ in range(4)]
    assert descriptors_of(path) == 1
    kept.clear()
    gc.collect()
    assert descriptors_of(path) == 0


def test_an_index_is_not_kept_for_another_content(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, index_file = path.read_text("utf-8"), _indexed.index_file

    def late(path: Path, file: io.BufferedReader) -> Any:
        path.write_text(text.replace("Größe", "Maß"), "utf-8")
        return index_file(path, file)

    monkeypatch.setattr(_indexed, "index_file", late)
    with pytest.raises(DataError, match=r"file\.json: has changed while it was read"):
        opened(path, monkeypatch, 0)
    monkeypatch.setattr(_indexed, "index_file", index_file)
    path.write_text(text, "utf-8")
    assert opened(path, monkeypatch, 0).queries()[8].text == "Größe 8? 1e5"


def test_a_damaged_index_is_made_anew(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = tuple(opened(path, monkeypatch, 0).queries())
    (index,) = (tmp_path / "indexes").rglob("*.json")
    for text in ("{", "{}", index.read_text().replace("[", "[1,", 1)):
        index.write_text(text)
        assert tuple(opened(path, monkeypatch, 0).queries()) == before


@for_each(
    ("before", "after"),
    [
        ('"query_id": 3', '"query_id": 1'),
        ('"most_calls": 2', '"most": 2'),
        ('"name": "Name"', '"name": "/"'),
        ('"name": "Name"', '"name": "Name", "x": 1'),
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


def places(text: bytes) -> list[Any]:
    return [found if isinstance(found, str) else json.loads(found.text) for found in each_query(io.BytesIO(text))]


@given(
    st.lists(st.dictionaries(st.text(), st.recursive(st.integers() | st.text(), st.lists, max_leaves=5)), max_size=4),
    st.integers(1, 40),
    st.booleans(),
)
def test_queries_are_found_wherever_the_parts_end_in_which_a_file_is_read(
    queries: Sequence[Any], part: int, ascii_only: bool
) -> None:
    text = json.dumps({"name": "n", "queries": queries}, ensure_ascii=ascii_only).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_scanning, "PART", part)
        assert places(text) == ["n", *queries]


@for_each(
    "text",
    [
        "",
        "[",
        "[1]",
        "[] x",
        '{"name": "n"}',
        '{"name": 1, "queries": []}',
        '{"name": {}, "queries": []}',
        '{"name": "n", "queries": [1]}',
        '{"name": "n", "queries": [{}',
        '{"name": "n", "queries": [{}]',
        '{"name": "n", "queries": [{},]}',
        '{"name": "n", "queries": [{"a": NaN}]}',
        '{"name": "n", "queries": []} x',
        '{"name": "n", "queries": [], "more": 1}',
        '{ {"a": 1}: 2}',
        '{"name": "n", "queries": [{"a": ' + "[" * 200_000,
    ],
)
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        places(text.encode())


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


@for_each(
    ("before", "after", "message"),
    [
        ('"query_id": 3', '"query_id": 3.5', "query_id"),
        ('"query_id": 3', '"query_id": 1', "query 1, number 4: query_id occurs twice"),
        ('"tool 1",\n    "get"', '"tool 1",\n    "put"', "query 1, relevant APIs"),
        ('"query_id": 3', '"query_id": x', "is not valid JSON: expected value at line"),
        ('"query": "Größe 8', '"query" "Größe 8', "is not valid JSON: expected `:` at line"),
    ],
)
def test_a_fault_of_a_query_is_named_without_reading_the_whole(
    listed: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, message: str
) -> None:
    whole = listed.read_text("utf-8")
    for text in (whole, json.dumps(json.loads(whole), ensure_ascii=False)):
        if before not in text:
            continue
        listed.write_text(text.replace(before, after, 1), "utf-8")
        with pytest.raises(DataError) as small:
            opened(listed, monkeypatch, 2**40)
        with monkeypatch.context() as patch:
            patch.setattr(file, "read_text", None)
            for part in (40, 2**20):
                patch.setattr(_scanning, "PART", part)
                with pytest.raises(DataError, match=message) as large:
                    opened(listed, patch, 0)
                assert str(large.value) == str(small.value)
    listed.write_text(whole, "utf-8")


BETWEEN = r"\},(\s*\{\s*.query)"


@for_each(
    ("pattern", "replacement", "message"),
    [
        (r".more.: 1", r'"more": 1e999', "the number is out of range"),
        (r".most_calls.: 2", r'"most_seconds": 1e999', "the number is out of range"),
        (r"(more.|most_calls.): .", r"\1: NaN", "expected value"),
        (BETWEEN, r"}\1", "expected `,` or `]`"),
        (BETWEEN, r"},,\1", "expected value"),
        (BETWEEN, r"}, nul,\1", "expected ident"),
        (r"\}(\s*\](?:,\s*.name.[^}]*\})?\Z)", r"},\1", "trailing comma"),
        (r"\Z", "x", "trailing characters"),
        (r".\Z", "", "EOF while parsing"),
        (r".{250}\Z", "", "EOF while parsing"),
        ('"name": ', '"name" ', "expected `:`"),
        ('"name": ', "name: ", "key must be a string"),
        ('"queries": ', "queries: ", "key must be a string"),
        (r"\](,\s*.name)", r"]]\1", "expected `,` or `}`"),
    ],
)
def test_a_file_that_is_not_json_is_never_read_as_a_whole(
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
            with pytest.raises(DataError, match=message) as small:
                opened(place, monkeypatch, 2**40)
            with monkeypatch.context() as patch:
                patch.setattr(file, "read_text", None)
                for part in (40, 2**20):
                    patch.setattr(_scanning, "PART", part)
                    with pytest.raises(DataError) as large:
                        opened(place, patch, 0)
                    assert str(large.value) == str(small.value)
        place.write_text(whole, "utf-8")
    assert found >= 2
