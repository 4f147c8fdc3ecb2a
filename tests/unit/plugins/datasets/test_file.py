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
from trialbed.errors import DataError, UsageError
from trialbed_plugins.datasets.file import FileDriver
from trialbed_plugins.datasets.mini import MiniDriver

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


def test_expected_calls_may_be_of_the_agents_own_tools(tmp_path: Path) -> None:
    api = {"category": "", "tool_name": "", "api_name": "fire"}
    (query,) = open_file(write(tmp_path, own(apis=[], gold_calls=[{"api": api}]))).queries()
    assert [call.api for call in query.gold_calls] == list(query.own_tools)


def test_a_dataset_written_in_the_own_form_is_the_same_dataset(tmp_path: Path) -> None:
    mini = MiniDriver().open(None, tmp_path)
    content = {"name": "copy", "queries": [query.model_dump(mode="json") for query in mini.queries()]}
    assert open_file(write(tmp_path, content)).digest() == mini.digest()


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
        ({"name": 3, "queries": []}, "file.json: name: input should be a valid string"),
        ({"name": "pots", "queries": {"a": 1}}, "file.json: queries: a file of tasks is a list"),
        ({"name": "pots", "querys": []}, "file.json: querys: a file of tasks is a list"),
        (own(txet="?"), r"task 'a', queries\[0\].txet: extra inputs are not permitted"),
        (own(query_id=None), r"queries\[0\].query_id: input should be"),
        (own(apis=[API, API]), "task 'a': apis: a tool occurs twice"),
        (own(apis=[]), "task 'a': gold_calls: 'Kiln_fire' is not among its apis"),
        ({"name": "pots", "queries": own()["queries"] * 2}, "task 'a', number 2: query_id occurs twice"),
        ([7], r"file.json: \[0\]: input should be "),
        ("7", "file.json: the whole: a file of tasks is a list"),
        (own(initial_state=float("nan")), "file.json: is not valid JSON: NaN is not JSON"),
        (json.dumps(own(final_state=7)).replace("7}", "1e999}"), "is not valid JSON: the number 1e999 is too large"),
        (json.dumps(own())[:-1] + ', "queries": []}', "is not valid JSON: the key 'queries' occurs twice"),
        (json.dumps(own()) + "\n\nx", r"is not valid JSON: Extra data: line 3 column 1"),
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


def test_halves_of_surrogate_pairs_are_replaced(tmp_path: Path) -> None:
    text = json.dumps(own(text="Hot \ud83d?", reference_facts=["\udd25", "\U0001f525"]))
    (query,) = open_file(write(tmp_path, text)).queries()
    assert (query.text, query.reference_facts) == ("Hot \ufffd?", ("\ufffd", "\U0001f525"))


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    text = json.dumps(own(text="Größe?"), indent=1, ensure_ascii=False)
    plain = open_file(write(tmp_path, text)).digest()
    (tmp_path / "file.json").write_bytes(text.replace("\n", "\r\n").encode("utf-8-sig"))
    assert open_file(tmp_path / "file.json").digest() == plain


def test_a_file_whose_name_names_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the name of the file must match"):
        open_file(write(tmp_path, [], "~.json"))


def test_an_absent_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        open_file(tmp_path / "absent.json")


def test_the_driver_opens_the_path_that_is_its_test_set(tmp_path: Path) -> None:
    path = write(tmp_path, own())
    assert FileDriver().open(str(path), tmp_path).test_set == "pots"
    assert FileDriver().test_sets(tmp_path) == []
    with pytest.raises(UsageError, match=r"--dataset FILE\.json"):
        FileDriver().open(None, tmp_path)


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
