from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.scoring import api_call, context

from trialbed.errors import DataError, UsageError
from trialbed.records import Query, ToolSpec
from trialbed_plugins.datasets.bfcl import BfclDriver, _scorer, _source, score_trial
from trialbed_selection.tools import Catalog


@pytest.fixture(autouse=True)
def fresh() -> None:
    _source.read_rows.cache_clear()


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
    assert (query.query_id, query.text, api.ref.pair) == (
        "simple_python_0",
        "What is the area?",
        ("", "geometry.area"),
    )
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


def test_what_a_schema_says_beyond_types_and_values_is_told() -> None:
    point = {"type": "dict", "properties": {"x": {"type": "float", "description": "east"}}, "required": ["x"]}
    day = {"type": "string", "format": "date", "description": "The day."}
    share = {"type": "float", "minimum": 0, "maximum": 1}
    function = {"name": "f", "parameters": {"properties": {"point": point, "day": day, "share": share}}}
    told = [parameter.description for parameter in _source.api_of(function).optional_parameters]
    assert told == [
        'Schema: {"properties": {"x": {"type": "float", "description": "east"}}, "required": ["x"]}',
        'The day. Schema: {"format": "date"}',
        'Schema: {"minimum": 0, "maximum": 1}',
    ]


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


def test_a_case_in_which_nothing_is_to_be_called_has_no_gold(wheel: Path, tmp_path: Path) -> None:
    assert opened(tmp_path, "irrelevance").gold_calls == ()


def test_without_the_wheel_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_source, "find_spec", lambda name: None)
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


def test_a_damaged_file_is_named(wheel: Path, tmp_path: Path) -> None:
    (wheel / "BFCL_v4_simple_python.json").write_text("{")
    with pytest.raises(DataError, match=r"BFCL_v4_simple_python\.json: cannot be read"):
        BfclDriver().open(None, tmp_path)


def test_the_score_is_declared_under_the_plugin() -> None:
    assert [score.name for score in _scorer.describe_scores()] == ["bfcl_correct"]
    assert importlib.util.find_spec("trialbed_plugins.datasets.bfcl")


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


async def test_trials_over_other_datasets_get_no_such_score(wheel: Path) -> None:
    assert await score_trial(context("a")) == []
