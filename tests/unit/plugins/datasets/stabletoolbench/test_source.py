"""StableToolBench's files as records, with every irregularity that its data has."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from trialbed.errors import DataError
from trialbed.records import ApiRef, Query
from trialbed_plugins.datasets._queries import read_document
from trialbed_plugins.datasets.file import FileDriver

PAPER = ("Paper Mill ", "/fold/{sheets}")


def read_queries(path: Path) -> Sequence[Query]:
    return FileDriver().open(str(path), path.parent).queries()


def parameter(name: str, **changes: Any) -> dict[str, Any]:
    return {"name": name, "type": "STRING", "description": "", "default": ""} | changes


def api(category: str, tool: str, name: str, **changes: Any) -> dict[str, Any]:
    return {
        "category_name": category,
        "tool_name": tool,
        "api_name": name,
        "api_description": "does something",
        "required_parameters": [],
        "optional_parameters": [],
        "method": "GET",
    } | changes


def query(number: int | str = 7, **changes: Any) -> dict[str, Any]:
    return {
        "query": "Fold me a swan, please.",
        "query_id": number,
        "api_list": [
            api("Crafts", *PAPER, template_response={"swan": "str", "_list_length": 2}),
            api("Crafts", "✂ Scissors_v2", "Süß"),
        ],
        "relevant APIs": [list(PAPER)],
    } | changes


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(*queries: Any, name: str = "set.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(queries), "utf-8")
        return path

    return write


def test_a_query_becomes_a_record(write: Any) -> None:
    (record,) = read_queries(write(query()))
    assert (record.query_id, record.text) == (7, "Fold me a swan, please.")
    assert record.gold_apis == (ApiRef(category="Crafts", tool_name="Paper Mill ", api_name="/fold/{sheets}"),)
    assert record.gold_calls[0].arguments is None
    assert [one.api_name for one in record.apis] == ["/fold/{sheets}", "Süß"]
    assert record.apis[0].template_response == {"swan": "str", "_list_length": 2}
    assert record.apis[1].template_response is None
    assert record.apis[1].tool_name == "✂ Scissors_v2"


def test_the_other_spelling_of_the_gold_key_is_read(write: Any) -> None:
    changed = query()
    changed["relevant_apis"] = changed.pop("relevant APIs")
    assert read_queries(write(changed)) == read_queries(write(query()))


def test_a_gold_pair_named_twice_is_two_calls_of_one_api(write: Any) -> None:
    (record,) = read_queries(write(query(**{"relevant APIs": [list(PAPER), list(PAPER)]})))
    assert len(record.gold_calls) == 2
    assert len(record.gold_apis) == 1


def test_a_pair_in_several_categories_is_several_apis_and_gold_means_the_first(write: Any) -> None:
    apis = [api("Events", *PAPER), api("Media", *PAPER), api("Events", *PAPER, api_description="again")]
    (record,) = read_queries(write(query(api_list=apis)))
    assert [one.category for one in record.apis] == ["Events", "Media"]
    assert record.apis[0].description == "does something"
    assert record.gold_apis[0].category == "Events"


def test_parameters_keep_odd_names_types_and_defaults(write: Any) -> None:
    odd = [
        parameter("array[]"),
        parameter("array[]", description="once more"),
        parameter("date\t", type="DATE (YYYY-MM-DD)"),
        parameter("from", type="string"),
        parameter("code1;code2;...;codeN", type="NUMBER", default="a number below ten"),
        parameter("users('UserName')", type="NUMBER", default=[1, 2]),
        parameter("latin-name", type="BOOLEAN", default=True),
        parameter("How to", type="NUMBER", default=2.5),
    ]
    apis = [api("Crafts", *PAPER, required_parameters=odd, template_response="list of str with length 8")]
    (record,) = read_queries(write(query(api_list=apis)))
    one = record.apis[0]
    assert [kept.name for kept in one.required_parameters] == [given["name"] for given in odd]
    assert [kept.default for kept in one.required_parameters] == [given["default"] for given in odd]
    assert one.template_response == "list of str with length 8"
    schema = one.parameters_schema()
    assert schema["required"] == list(dict.fromkeys(given["name"] for given in odd))
    assert schema["properties"]["date\t"] == {"type": "string"}
    assert "default" not in schema["properties"]["code1;code2;...;codeN"]
    assert "default" not in schema["properties"]["users('UserName')"]
    assert schema["properties"]["How to"]["default"] == 2.5


def test_a_byte_order_mark_and_unknown_keys_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps([query(set="easy")]), "utf-8-sig")
    assert len(read_queries(path)) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": None}, r"task 7, \[0\].query: input should be a valid string"),
        ({"query_id": True}, r"\[0\].query_id: input should be a valid"),
        ({"api_list": {}}, r"task 7, \[0\].api_list: input should be a valid"),
        ({"relevant APIs": [["Paper Mill "]]}, r"task 7, \[0\].relevant APIs\[0\]"),
        ({"relevant APIs": [["Paper Mill ", "fold"]]}, r"task 7, relevant APIs: \['Paper Mill ', 'fold'\] is not in"),
        ({"api_list": [api("C", *PAPER), {}]}, r"task 7, \[0\].api_list\[1\].category_name: the key is missing"),
        (
            {"api_list": [api("C", *PAPER, optional_parameters=[{"name": 3}])]},
            r"task 7, \[0\].api_list\[0\].optional_parameters\[0\].name: input should be a valid string",
        ),
    ],
)
def test_a_fault_is_named_by_file_query_and_key(write: Any, change: dict[str, Any], message: str) -> None:
    path = write(query(**change))
    with pytest.raises(DataError, match=message) as caught:
        read_queries(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_missing_key_of_a_query_is_named(write: Any) -> None:
    broken = query()
    del broken["relevant APIs"]
    with pytest.raises(DataError, match=r"task 'q2', \[1\].relevant APIs: the key is missing"):
        read_queries(write(query(), broken | {"query_id": "q2"}))


def test_truncated_json_is_named_by_line(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps([query()], indent=1)[:-60], "utf-8")
    with pytest.raises(DataError, match=r"set.json: is not valid JSON: .*: line \d+ column \d+$"):
        read_queries(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[\n"\xff"]', "is not UTF-8 text: invalid start byte at byte 3"),
        (b'["\\ud800"]', r"\[0\]: input should be an object"),
        (b"[" * 5000, "is not valid JSON: it is nested too deeply"),
        (b"[NaN]", "is not valid JSON: NaN is not JSON"),
        (b'[{"query": 1e999}]', "is not valid JSON: the number 1e999 is too large"),
        (b'[{"query": "' + b'", "state": ' + b"[" * 300 + b"]" * 300 + b"}]", r"\[0\]: invalid JSON: recursion limit"),
        (b"", "is not valid JSON: Expecting value: line 1 column 1"),
    ],
)
def test_what_is_no_list_of_queries_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "set.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_queries(path)


def test_identifiers_must_be_unique(write: Any) -> None:
    with pytest.raises(DataError, match="task '7', number 2: query_id occurs twice"):
        read_queries(write(query(7), query("7")))


def test_an_unreadable_document_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_document(tmp_path / "absent.json")


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in items for found in paths_of(item, (*path, key)))]


SEED = [query(api_list=[api("Crafts", *PAPER, required_parameters=[parameter("sheets", type="NUMBER", default=1)])])]
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=examples(1.5))
@given(where=st.sampled_from(paths_of(SEED)[1:]), junk=JUNK, delete=st.booleans())
def test_mutated_queries_are_read_or_are_a_data_error(
    tmp_path_factory: pytest.TempPathFactory, where: tuple[Any, ...], junk: Any, delete: bool
) -> None:
    mutated = copy.deepcopy(SEED)
    parent: Any = mutated
    for key in where[:-1]:
        parent = parent[key]
    if delete:
        del parent[where[-1]]
    else:
        parent[where[-1]] = junk
    _read_or_refuse(tmp_path_factory.mktemp("mutated") / "set.json", json.dumps(mutated).encode())


@settings(max_examples=examples(1.5))
@given(data=st.data())
def test_mangled_bytes_are_read_or_are_a_data_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(json.dumps(SEED, ensure_ascii=False).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content)))
        content[start : start + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=3))
    _read_or_refuse(tmp_path_factory.mktemp("mangled") / "set.json", bytes(content))


def _read_or_refuse(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    queries: Sequence[Query] = ()
    message = f"{path}: "
    try:
        queries = read_queries(path)
    except DataError as error:
        message = str(error)
    assert message.startswith(f"{path}: ")
    assert all(record.model_dump_json() for record in queries)


def document(**changes: Any) -> dict[str, Any]:
    endpoint = {"name": "grind", "url": "u", "description": None, "method": "POST", "required_parameters": []}
    return {
        "tool_name": "Paper Mill ",
        "tool_description": "Makes paper.",
        "title": "t",
        "score": {},
        "api_list": [endpoint | {"optional_parameters": [parameter("wood")], "statuscode": 200, "schema": {}}],
    } | changes


def test_a_tool_document_gets_its_category_from_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "News_Media" / "paper_mill.json"
    path.parent.mkdir()
    path.write_text(json.dumps(document()), "utf-8")
    (record,) = read_document(path)
    assert (record.category, record.tool_name, record.api_name) == ("News_Media", "Paper Mill ", "grind")
    assert (record.description, record.tool_description, record.method) == ("", "Makes paper.", "POST")
    assert [one.name for one in record.optional_parameters] == ["wood"]


def test_a_tool_document_without_its_keys_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tool.json"
    path.write_text(json.dumps(document(api_list=[{"url": "u"}])), "utf-8")
    with pytest.raises(DataError, match=r"tool.json: api_list\[0\].name: the key is missing"):
        read_document(path)
