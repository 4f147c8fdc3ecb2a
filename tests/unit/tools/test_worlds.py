"""Files of tools."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import for_each
from support.examples import examples

from trialbed.catalogs import open_dataset
from trialbed.errors import DataError, UsageError
from trialbed.records import Api
from trialbed.wire.json_schemas import JsonSchema
from trialbed_server.simulators.template import TemplateSimulator
from trialbed_tools.command import command
from trialbed_tools.imports import yaml_text
from trialbed_tools.located import parse_yaml
from trialbed_tools.schemas import Skeletons
from trialbed_tools.worlds import open_world

DEFINITIONS = [
    {"name": "find order", "inputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}}},
    {"name": "find/order", "outputSchema": {"type": "object", "properties": {"paid": {"type": "boolean"}}}},
    {"name": "refund", "description": "Refund: an order\nwith 1e3 lines"},
]


def run(*arguments: object, code: int = 0) -> str:
    done = CliRunner().invoke(command, ["import", *map(str, arguments)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture
def definitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.json").write_text(json.dumps(DEFINITIONS), encoding="utf-8")
    return "tools.json"


@for_each("name", ["shop.yaml", "shop.json"])
def test_a_document_becomes_a_file_of_tools_for_tasks(definitions: str, tmp_path: Path, name: str) -> None:
    out = run(definitions, "-o", name)
    assert f"{name}: 3 tools of definitions: tools.json: find_order, find_order_2, refund" in out
    (tmp_path / "desk.yaml").write_text(
        f"tools: {name}\ntasks:\n  - query: Find it.\n    expect: {{calls: [find_order: {{id: 7}}]}}\n",
        encoding="utf-8",
    )
    dataset = open_dataset("desk.yaml", tmp_path)
    (query,) = dataset.queries()
    assert [(api.category, api.api_name) for api in query.apis] == [
        ("shop", "find_order"),
        ("shop", "find_order_2"),
        ("shop", "refund"),
    ]
    assert query.apis[2].description == "Refund: an order\nwith 1e3 lines"
    assert dataset.simulator == "template"
    assert {file.name for file in dataset.files} == {"desk.yaml", name}


def test_the_call_of_the_hint_is_one_that_the_tool_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    properties = {"name": {"type": "string"}, "status": {"enum": ["sold", "new"]}, "tag": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["name", "status"]}
    Path("tools.json").write_text(json.dumps([{"name": "updatePet", "parameters": schema}]), encoding="utf-8")
    out = run("tools.json", "-o", "pets.yaml")
    hint = [line.removeprefix("  ") for line in out.partition("bench run --dataset FILE.yaml\n")[2].splitlines()]
    Path("desk.yaml").write_text("\n".join(hint), encoding="utf-8")
    (query,) = open_dataset("desk.yaml", tmp_path).queries()
    (call,) = query.gold_calls
    assert call.arguments is not None
    assert call.arguments["status"] == "sold"
    assert call.arguments.keys() == {"name", "status"}


@for_each(
    ("arguments", "says"),
    [
        (["tools.json", "-o", "shop.txt"], "give it a name that ends with .yaml"),
        (["tools.json", "-o", "shop.yaml", "--only", "pay"], "no tool has such a name; there are find_order, find_"),
        (["tools.json", "-o", "shop.yaml", "--answers", "live"], "tools.json names no server to call"),
        (["none.json", "-o", "shop.yaml"], "none.json: there is no such file"),
        (["bad.json", "-o", "shop.yaml"], "the schema of a cannot be used: "),
        (["tools.json", "-o", "no/shop.yaml"], "no/shop.yaml"),
        (["http://[x", "-o", "shop.yaml"], "http://[x: is not an address"),
        (["http://127.0.0.1:1/x?key=a", "-o", "shop.yaml"], "cannot be got: ConnectError"),
    ],
)
def test_nothing_is_written_where_something_is_wrong(
    definitions: str, tmp_path: Path, arguments: list[str], says: str
) -> None:
    bad = [{"name": "a", "parameters": {"properties": {"x": {"type": "text"}}}}]
    (tmp_path / "bad.json").write_text(json.dumps(bad), encoding="utf-8")
    with pytest.raises((DataError, UsageError)) as raised:
        run(*arguments)
    assert says in str(raised.value)
    assert {path.name for path in tmp_path.iterdir()} == {"tools.json", "bad.json"}


FUNCTION = "{name: a}"
FAULTS = [
    ("tools: [", "shop.yaml:1: is not valid YAML"),
    ("tools: []", "shop.yaml:1: tools: is empty; give at least one"),
    ("answers: schema", "shop.yaml:1: tools: the key is missing"),
    ("tools:\n - function: {}", "shop.yaml:2: tools[0].function.name: the key is missing"),
    (
        f"tools:\n - function: {FUNCTION}\n   sample: 3",
        "shop.yaml:3: tools[0].sample: there is no such key; did you mean 'example'?",
    ),
    (f"tools: [function: {FUNCTION}]\ntasks: []", "shop.yaml:2: tasks: there is no such key; the keys are answers, "),
    ("tools: [function: {name: 7}]", "shop.yaml:1: tools[0].function.name: must be a text; write '7' in quotes"),
    ("tools: [{function: {name: a}}, {function: {name: a}}]", "shop.yaml: tools: 'a' occurs twice"),
]


@for_each(("text", "says"), FAULTS)
def test_a_fault_of_a_file_of_tools_is_named_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as raised:
        open_world(path)
    assert says in str(raised.value)


def test_answers_by_schema_fit_it(tmp_path: Path) -> None:
    kinds: list[dict[str, Any]] = [
        {"type": "string"},
        {"type": ["integer", "null"]},
        {"enum": ["open", "paid"]},
        {"const": 3},
        {"type": "string", "format": "date-time", "pattern": r"^\d{4}-\d\d-\d\dT"},
        {"type": "array", "items": {"type": "number"}, "minItems": 2},
        {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}},
        {"oneOf": [{"type": "null"}, {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}]},
        {
            "allOf": [
                {"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"]},
                {"required": ["c"]},
            ]
        },
        {"type": "array", "items": {"enum": ["x"]}},
        {"items": {"items": {"type": "integer"}}},
    ]
    schema = {
        "type": "object",
        "properties": {f"field{number}": kind for number, kind in enumerate(kinds)},
        "required": [f"field{number}" for number in range(len(kinds))],
    }
    path = tmp_path / "shop.yaml"
    tool = {"function": {"name": "find"}, "example": Skeletons().of_schema(schema)}
    path.write_text(yaml_text({"tools": [tool]}), encoding="utf-8")
    (api,) = open_world(path).tools
    assert isinstance(api, Api)
    for number in range(20):
        answer = asyncio.run(TemplateSimulator().simulate(api, "shop/find", {"id": number}))
        assert JsonSchema(schema).problems(answer.response) == ()


TEXTS = st.text(alphabet=st.sampled_from("a1e-+.:0 #\n\t~'\"&*[]{}|>%@`!,?yesnulltrue\u2028\x85é"), max_size=12)
TREES = st.recursive(
    TEXTS
    | st.booleans()
    | st.none()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(TREES)
@settings(max_examples=examples(1), deadline=None)
def test_written_values_are_read_as_the_same(value: Any) -> None:
    assert parse_yaml(yaml_text({"a": value}), "x").value == {"a": value}
