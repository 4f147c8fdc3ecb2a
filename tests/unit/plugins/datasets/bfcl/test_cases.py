"""The leaderboard's cases with a single request, and its rules for them."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.cases import for_each
from support.scoring import api_call, context

from trialbed.errors import UsageError
from trialbed.records import Query, ToolSpec
from trialbed_plugins.datasets.bfcl import BfclDriver, problem_of, score_trial
from trialbed_selection.tools import Catalog


def opened(tmp_path: Path, name: str | None = None) -> Query:
    (query,) = BfclDriver().open(name, tmp_path).queries()
    return query


def test_the_test_sets_are_those_of_the_wheel(wheel: Path, tmp_path: Path) -> None:
    assert BfclDriver().test_sets(tmp_path) == ["simple_python", "irrelevance"]
    with pytest.raises(UsageError, match="has no test set 'parallel'; it has simple_python, irrelevance"):
        BfclDriver().open("parallel", tmp_path)


def test_a_case_is_a_query_with_the_first_right_arguments(wheel: Path, tmp_path: Path) -> None:
    query = opened(tmp_path)
    (api,) = query.apis
    assert (query.query_id, query.text, api.ref.pair) == ("simple_python_0", "What is the area?", ("", "geometry.area"))
    (call,) = query.gold_calls
    assert call.arguments == {"base": 10, "height": 5.0, "unit": "m", "points": [{"x": 1}]}
    schema = api.parameters_schema()
    assert schema["required"] == ["base", "height"]
    assert {name: about["type"] for name, about in schema["properties"].items()} == {
        "base": "integer",
        "height": "number",
        "unit": "string",
        "points": "array",
    }
    assert '"items": {"type": "dict"}' in schema["properties"]["points"]["description"]


def test_models_see_the_names_that_the_leaderboard_gives_them(tmp_path: Path, wheel: Path) -> None:
    file = wheel / "BFCL_v4_simple_python.json"
    case = json.loads(file.read_text())
    (area,) = case["function"]
    names = ("geometry.area", "flight.book", "flight_book")
    cases = [
        case | {"id": f"simple_python_{place}", "function": [area | {"name": name}]} for place, name in enumerate(names)
    ]
    file.write_text("\n".join(map(json.dumps, cases)))
    (wheel / "possible_answer" / "BFCL_v4_simple_python.json").unlink()
    queries = BfclDriver().open(None, tmp_path).queries()
    catalog = Catalog([api for query in queries for api in query.apis])
    offered = [catalog.specs([api.ref for api in query.apis], query.apis) for query in queries]
    assert [[tool.name for tool in tools] for tools in offered] == [["geometry_area"], ["flight_book"], ["flight_book"]]
    assert {tool.description for tools in offered for tool in tools} == {"Area of a triangle"}


def test_without_the_wheel_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed_plugins.datasets.bfcl._driver.find_spec", lambda name: None)
    assert BfclDriver().test_sets(tmp_path) == []
    with pytest.raises(UsageError, match="pip install --no-deps bfcl-eval"):
        BfclDriver().open(None, tmp_path)


def test_a_wheel_with_the_files_of_an_earlier_release_says_which_one_fits(wheel: Path, tmp_path: Path) -> None:
    for file in wheel.glob("BFCL_v4_*.json"):
        file.rename(file.with_name(file.name.replace("v4", "v3")))
    with pytest.raises(UsageError, match=r"has other files than 2025\.10\.27 and later; `pip install --no-deps bfcl-"):
        BfclDriver().open(None, tmp_path)


def test_a_case_without_the_function_of_its_answer_is_skipped_and_named(
    wheel: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cases, answers = (folder / "BFCL_v4_simple_python.json" for folder in (wheel, wheel / "possible_answer"))
    odd = json.loads(cases.read_text()) | {"id": "simple_python_363"}
    cases.write_text(f"{cases.read_text()}{json.dumps(odd)}\n")
    right = {"id": "simple_python_363", "ground_truth": [{"find_closest": {}}]}
    answers.write_text(f"{answers.read_text()}{json.dumps(right)}\n")
    assert opened(tmp_path).query_id == "simple_python_0"
    assert "skipped, as the answers call functions that the cases lack: simple_python_363" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "value"), [({"base": 10, "height": 5}, 1), ({"base": 11, "height": 5}, 0), (None, 0)]
)
async def test_trials_are_scored_by_the_leaderboards_rules(
    wheel: Path, tmp_path: Path, arguments: dict[str, Any] | None, value: float
) -> None:
    query = opened(tmp_path)
    (api,) = query.apis
    tool = ToolSpec(name="geometry_area", description="", parameters=api.parameters_schema(), api=api.ref)
    made = () if arguments is None else (api_call("a", arguments).model_copy(update={"api": api.ref}),)
    (score,) = await score_trial(replace(context((), made), query=query, tools=(tool,)))
    assert (score.name, score.value) == ("bfcl_correct", value)


READERS = "bfcl_eval.eval_checker.ast_eval.type_convertor"
STRINGS = {"type": "ArrayList", "items": {"type": "String"}}
SOURCES: dict[str, list[tuple[dict[str, Any], Any, str]]] = {
    "simple_java": [
        ({"type": "integer", "description": "How long."}, 5, "5"),
        ({"type": "long"}, 5, "5L"),
        ({"type": "float"}, 2.5, "2.5f"),
        ({"type": "double"}, 2.5, "2.5"),
        ({"type": "boolean"}, True, "true"),
        ({"type": "any"}, "mapController", "mapController"),
        (STRINGS, ["a", "b"], 'new ArrayList<>(Arrays.asList("a", "b"))'),
        (STRINGS, [], "new ArrayList<>()"),
        ({"type": "Array", "items": {"type": "long"}}, [1], "new Object[]{1L}"),
        ({"type": "HashMap"}, {"a": ["x"]}, 'new HashMap<String, Object>() {{ put("a", "x"); }}'),
    ],
    "simple_javascript": [
        ({"type": "Bigint"}, 5, "5n"),
        ({"type": "float"}, 4.0, "4.0"),
        ({"type": "Boolean"}, False, "false"),
        (STRINGS | {"type": "array"}, ["a"], '["a"]'),
        ({"type": "array", "items": {"type": "dict"}}, [{"a": [1]}], "[{a: 1}]"),
    ],
}


def function(*kinds: dict[str, Any]) -> dict[str, Any]:
    properties = {f"p{place}": kind for place, kind in enumerate(kinds)}
    return {
        "name": "f",
        "description": "Waits.",
        "parameters": {"type": "dict", "properties": properties, "required": []},
    }


@pytest.mark.parametrize(("category", "syntax"), [("simple_java", "Java 8 SDK"), ("simple_javascript", "JavaScript")])
def test_parameters_take_the_source_of_values(wheel: Path, tmp_path: Path, category: str, syntax: str) -> None:
    kinds, values, sources = zip(*SOURCES[category], strict=True)
    case = {"id": f"{category}_0", "question": [[{"role": "user", "content": "Wait"}]], "function": [function(*kinds)]}
    right = {"f": {f"p{place}": [value] for place, value in enumerate(values)}}
    (wheel / f"BFCL_v4_{category}.json").write_text(json.dumps(case))
    answer = json.dumps({"id": case["id"], "ground_truth": [right]})
    (wheel / "possible_answer" / f"BFCL_v4_{category}.json").write_text(answer)
    (query,) = BfclDriver().open(category, tmp_path).queries()
    assert query.gold_calls[0].arguments == {f"p{place}": source for place, source in enumerate(sources)}
    (api,) = query.apis
    assert api.description == f"Waits. Note that the provided function is in {syntax} syntax."
    assert {about["type"] for about in api.parameters_schema()["properties"].values()} == {"string"}


@pytest.mark.parametrize(
    ("kind", "allowed", "given", "right", "read"),
    [
        ({"type": "integer"}, [5], "5", True, [("5", "integer")]),
        ({"type": "integer"}, [5], "6", False, [("6", "integer")]),
        ({"type": "integer"}, [5], 5, False, []),
        (STRINGS, [["a"]], "a \n b", False, [("a b", "ArrayList", "String")]),
        # No reader would end with these.
        (STRINGS, [["a"]], "[" * 17, False, []),
        (STRINGS, [["a"]], "x" * 2001, False, []),
    ],
)
def test_values_are_read_before_they_are_compared(
    monkeypatch: pytest.MonkeyPatch, kind: Any, allowed: Any, given: Any, right: bool, read: list[Any]
) -> None:
    found: list[tuple[str, ...]] = []

    def java_type_converter(text: str, *kinds: str) -> Any:
        found.append((text, *kinds))
        return int(text) if text.isdigit() else text

    module = ModuleType(f"{READERS}.java_type_converter")
    module.java_type_converter = java_type_converter  # type: ignore[attr-defined]
    module.JAVA_TYPE_CONVERSION = {"integer": int, "ArrayList": list, "String": str}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    problem = problem_of("simple_java", [function(kind)], [{"f": {"p0": allowed}}], [("f", {"p0": given})])
    assert (not problem) is right
    assert found == read


def taking(**properties: Any) -> dict[str, Any]:
    return {"name": "f", "parameters": {"type": "dict", "properties": properties, "required": []}}


def is_right(kind: dict[str, Any], allowed: list[Any], value: Any) -> bool:
    return not problem_of("simple_python", [taking(p=kind)], [{"f": {"p": allowed}}], [("f", {"p": value})])


@for_each(
    ("kind", "allowed", "value", "right"),
    [
        ("integer", [3], 3, True),
        ("integer", [3], 3.0, False),
        ("integer", [3], "3", False),
        ("integer", [1], True, False),
        ("float", [3.0], 3, True),
        ("float", [3.5], 3.5, True),
        ("string", ["New York, NY"], "new york NY", True),
        ("string", ["it's"], 'it"s', True),
        ("string", ["a", ""], "b", False),
        ("boolean", [True], True, True),
        ("boolean", [True], 1, False),
        ("integer", ["n"], "n", True),
        ("integer", ["n"], "N", False),
        ("any", ["x"], "X", True),
        ("dict", [{"a": [1, 2], "b": ["x", ""]}], {"a": 2}, True),
        ("dict", [{"a": [1, 2], "b": ["x", ""]}], {"a": 2, "b": "X"}, True),
        ("dict", [{"a": [1, 2]}], {"a": 3}, False),
        ("dict", [{"a": [1, 2]}], {"a": 1, "c": 1}, False),
        ("dict", [{"a": [1]}], {}, False),
    ],
)
def test_values_are_compared_as_the_leaderboard_does(kind: str, allowed: list[Any], value: Any, right: bool) -> None:
    assert is_right({"type": kind}, allowed, value) is right


@for_each(
    ("inner", "allowed", "value", "right"),
    [
        ("integer", [[1, 2]], [1, 2], True),
        ("integer", [[1, 2]], [2, 1], False),
        ("integer", [[1, 2]], ["1", 2], False),
        ("string", [["a b", "C"], ""], ["AB", "c"], True),
        ("integer", [[1]], 1, False),
        ("dict", [[{"a": [1]}, {"a": [2]}]], [{"a": 1}, {"a": 2}], True),
        ("dict", [[{"a": [1]}, {"a": [2]}]], [{"a": 2}, {"a": 1}], False),
        ("dict", [[{"a": [1]}]], [], False),
    ],
)
def test_lists_are_compared_item_by_item(inner: str, allowed: list[Any], value: Any, right: bool) -> None:
    for kind in ("array", "tuple"):
        assert is_right({"type": kind, "items": {"type": inner}}, allowed, value) is right


def described(name: str, *required: str) -> dict[str, Any]:
    properties = {"p": {"type": "integer"}, "q": {"type": "integer"}}
    return {"name": name, "parameters": {"type": "dict", "properties": properties, "required": list(required)}}


FUNCTIONS = [described("f", "p"), described("g")]


@for_each(
    ("category", "answers", "calls", "problem"),
    [
        ("simple_python", [{"f": {"p": [1]}}], [], "0 calls instead of 1"),
        ("simple_python", [{"f": {"p": [1]}}], [("g", {"p": 1})], "g is called instead of f"),
        ("simple_python", [{"f": {"p": [1, ""]}}], [("f", {})], "p is missing"),
        ("simple_python", [{"f": {"p": [1], "q": [2]}}], [("f", {"p": 1})], "q is missing"),
        ("simple_python", [{"f": {"p": [1], "q": [2, ""]}}], [("f", {"p": 1})], ""),
        ("simple_python", [{"f": {"p": [1]}}], [("f", {"p": 1, "q": 2})], "q is not expected"),
        ("simple_python", [{"f": {"p": [1]}}], [("f", {"p": 2})], "p: 2 is not one of [1]"),
        ("simple_python", [{"f": {"p": [1]}}], [("f", None)], "cannot be compared"),
        ("multiple", [{"g": {"q": [1]}}], [("g", {"q": 1})], ""),
        ("parallel", [{"f": {"p": [1]}}, {"f": {"p": [2]}}], [("f", {"p": 2}), ("f", {"p": 1})], ""),
        (
            "parallel",
            [{"f": {"p": [1]}}, {"f": {"p": [2]}}],
            [("f", {"p": 1}), ("f", {"p": 1})],
            "no call is right for f",
        ),
        ("live_parallel_multiple", [{"f": {"p": [1]}}, {"g": {}}], [("g", {}), ("f", {"p": 1})], ""),
        ("irrelevance", [], [], ""),
        ("live_irrelevance", [], [("f", {"p": 1})], "no function is needed"),
        ("live_relevance", [], [], "no function was called"),
        ("live_relevance", [], [("g", {})], ""),
    ],
)
def test_calls_are_right_or_there_is_a_reason(category: str, answers: Any, calls: Any, problem: str) -> None:
    found = problem_of(category, FUNCTIONS, answers, calls)
    assert problem in found
    assert bool(found) is bool(problem)
