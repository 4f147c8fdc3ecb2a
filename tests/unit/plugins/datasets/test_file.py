"""Datasets that are single files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from trialbed.catalogs import open_dataset
from trialbed.contracts import Dataset
from trialbed.errors import DataError
from trialbed_plugins.datasets.file import FileDriver

API = {"category": "Crafts", "tool_name": "Kiln", "api_name": "fire"}


def own(**changes: Any) -> dict[str, Any]:
    query = {
        "query_id": "a",
        "text": "How hot?",
        "apis": [API],
        "gold_calls": [{"api": API, "arguments": {"cone": 6}}],
        "reference_facts": ["1222"],
    }
    return {"name": "pots", "queries": [query | changes]}


def write(folder: Path, content: Any, name: str = "file.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def open_file(path: Path) -> Dataset:
    return FileDriver().open(str(path), path.parent)


def test_the_own_form_is_read(tmp_path: Path) -> None:
    dataset = open_file(write(tmp_path, own()))
    assert (dataset.name, dataset.test_set, dataset.simulator) == ("pots", "pots", "template")
    (query,) = dataset.queries()
    assert query.gold_calls[0].arguments == {"cone": 6}
    assert query.reference_facts == ("1222",)
    assert [api.ref.title for api in dataset.apis()] == ["Kiln_fire"]


def test_a_list_is_read_as_stabletoolbench_writes_it_and_named_for_its_file(tmp_path: Path) -> None:
    api = {"category_name": "Crafts", "tool_name": "Kiln", "api_name": "fire"}
    query = {"query": "How hot?", "query_id": 1, "api_list": [api], "relevant_apis": [["Kiln", "fire"]]}
    dataset = open_file(write(tmp_path, [query], "kilns.json"))
    assert (dataset.name, dataset.test_set) == ("kilns", "kilns")
    assert dataset.queries()[0].gold_apis[0].pair == ("Kiln", "fire")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"name": "pots",\n "queries": [}', r"file.json: is not valid JSON: Expecting value: line 2 column 14"),
        ({"name": "../pots", "queries": []}, "file.json: name: '../pots' must match"),
        ({"name": "pots", "queries": {"a": 1}}, "file.json: queries: a file of tasks is a list"),
        (own(txet="?"), r"task 'a', queries\[0\].txet: extra inputs are not permitted"),
        (own(apis=[API, API]), "task 'a': apis: a tool occurs twice"),
        (own(apis=[]), "task 'a': gold_calls: 'Kiln_fire' is not among its apis"),
        ({"name": "pots", "queries": own()["queries"] * 2}, "task 'a', number 2: query_id occurs twice"),
        (own(initial_state=float("nan")), "file.json: is not valid JSON: NaN is not JSON"),
        (json.dumps(own())[:-1] + ', "queries": []}', "is not valid JSON: the key 'queries' occurs twice"),
        (json.dumps(own())[:-9], "is not valid JSON: Unterminated string starting: line 1 column "),
        (json.dumps(own())[:-1] + ', "x": ' + "[" * 200_000, "is not valid JSON: it is nested too deeply"),
    ],
)
def test_a_fault_is_named_by_file_line_or_key(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        open_file(write(tmp_path, content))


@pytest.mark.parametrize("source", [False, True])
def test_lists_lines_and_yaml_of_either_form_are_the_same_dataset(tmp_path: Path, source: bool) -> None:
    queries = own()["queries"] + own(query_id=2, text="Größe?\u2028")["queries"]
    if source:
        api = {"category_name": "Crafts", "tool_name": "Kiln", "api_name": "fire"}
        queries = [
            {"query_id": one["query_id"], "query": one["text"], "api_list": [api], "relevant APIs": [["Kiln", "fire"]]}
            for one in queries
        ]
    lines = "".join(f"{json.dumps(one, ensure_ascii=False)}\r\n\n" for one in queries)
    files = [
        write(tmp_path, queries, "pots.json"),
        write(tmp_path, lines, "pots.jsonl"),
        write(tmp_path, yaml.safe_dump(queries, sort_keys=True), "pots.yml"),
    ]
    if not source:
        files.append(write(tmp_path, yaml.safe_dump({"name": "pots", "queries": queries}), "other.yaml"))
    found = [open_dataset(str(file), tmp_path) for file in files]
    assert {(one.name, one.digest(), len(one.queries())) for one in found} == {("pots", found[0].digest(), 2)}


def test_a_fault_of_lines_and_yaml_is_named_by_line_or_key(tmp_path: Path) -> None:
    query = json.dumps(own()["queries"][0])
    for name, text, message in (
        ("a.jsonl", f"{query}\n{{", r"a.jsonl: is not valid JSON: Expecting property .*: line 2 column 2"),
        ("a.jsonl", f"{query}\n{query}", r"a.jsonl: task 'a', number 2: query_id occurs twice"),
        ("a.yaml", "queries:\n- x: [", r"a.yaml:2: is not valid YAML"),
        ("a.yaml", "queries:\n- query_id: 1", r"a.yaml: task 1, queries\[0\]\.text: the key is missing"),
    ):
        with pytest.raises(DataError, match=message):
            open_dataset(str(write(tmp_path, text, name)), tmp_path)


@settings(max_examples=examples(1.5))
@given(start=st.integers(0, 400), length=st.integers(0, 12), filling=st.text(max_size=6))
def test_mangled_files_are_read_or_are_a_data_error(
    tmp_path_factory: pytest.TempPathFactory, start: int, length: int, filling: str
) -> None:
    text = json.dumps(own())
    path = tmp_path_factory.mktemp("mangled") / "file.json"
    path.write_bytes((text[:start] + filling + text[start + length :]).encode("utf-8", "surrogatepass"))
    message = str(path)
    try:
        assert open_file(path).digest()
    except DataError as error:
        message = str(error)
    assert str(path) in message
