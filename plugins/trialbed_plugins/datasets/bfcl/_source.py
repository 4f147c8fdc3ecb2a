"""The leaderboard's files, in the installed wheel ``bfcl-eval``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trialbed.errors import DataError
from trialbed.files import read_text
from trialbed.records import Api, ApiRef, GoldCall, Parameter, Query
from trialbed_plugins.datasets.bfcl._languages import LANGUAGES, Language

CATEGORIES = (
    "simple_python",
    "multiple",
    "parallel",
    "parallel_multiple",
    "simple_java",
    "simple_javascript",
    "irrelevance",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "live_irrelevance",
    "live_relevance",
)
"""The test sets with one turn. The first is the default."""

TURNS = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
"""The test sets with several turns."""

CATEGORY = "BFCL"
"""The category of all functions. Their APIs have no tool, so models see the leaderboard's own names."""

TYPES = {"tuple": "ARRAY", "any": "STRING"}
"""Maps the leaderboard's types to the dataset's words if these differ."""

CONSTRAINTS = ("items", "properties", "required", "format", "minimum", "maximum")
"""Keywords of a parameter's schema beyond type and values. They are added to the description."""


def data_folder() -> Path | None:
    """Return the data folder of the installed wheel, if it is installed."""
    spec = find_spec("bfcl_eval")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(place) / "data").is_dir():
            return Path(place) / "data"
    return None


@lru_cache(maxsize=4)
def read_rows(folder: Path, category: str) -> dict[str, dict[str, Any]]:
    """Return the cases of a test set by id, with their ``answers``.

    Raises:
        DataError: a file cannot be read, or has another format; the message names it.
    """
    name = f"BFCL_v4_{category}.json"
    rows = {row["id"]: row for row in read_lines(folder / name)}
    answers = folder / "possible_answer" / name
    if answers.is_file():
        for row in read_lines(answers):
            rows[row["id"]]["answers"] = row["ground_truth"]
    return rows


def has_functions(row: Mapping[str, Any]) -> bool:
    """Return whether a case offers all functions that its answers call. One release contained a case that did not."""
    offered = {function["name"] for function in row["function"]}
    return all(offered.issuperset(answer) for answer in row.get("answers", ()))


def query_of(row: Mapping[str, Any]) -> Query:
    """Convert a case to a query. Its expected calls have the first of the right values."""
    language = LANGUAGES.get(row["id"].rpartition("_")[0])
    functions = {function["name"]: function for function in row["function"]}
    return Query(
        query_id=row["id"],
        text="\n\n".join(message["content"] for turn in row["question"] for message in turn),
        apis=tuple(api_of(function, language) for function in functions.values()),
        gold_calls=tuple(
            GoldCall(api=ref_of(name), arguments=_first_arguments(values, functions[name], language))
            for answer in row.get("answers", ())
            for name, values in answer.items()
        ),
    )


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects in a file with one JSON object per line.

    Raises:
        DataError: the file cannot be read.
    """
    try:
        return [json.loads(line) for line in read_text(path).splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def ref_of(name: str) -> ApiRef:
    return ApiRef(category=CATEGORY, tool_name="", api_name=name)


def api_of(function: Mapping[str, Any], language: Language | None = None) -> Api:
    """Convert a function to an API.

    Args:
        language: the language of its values, if it is not Python.
    """
    describe = language.parameter if language else _parameter
    schema = function["parameters"]
    required = set(schema.get("required", ()))
    parameters = {name: describe(name, about) for name, about in schema["properties"].items()}
    return Api(
        **ref_of(function["name"]).model_dump(),
        description=function.get("description", "") + (language.hint if language else ""),
        required_parameters=tuple(item for name, item in parameters.items() if name in required),
        optional_parameters=tuple(item for name, item in parameters.items() if name not in required),
    )


def _parameter(name: str, about: Mapping[str, Any]) -> Parameter:
    description = str(about.get("description", ""))
    inside = {key: about[key] for key in CONSTRAINTS if key in about}
    if inside:  # a parameter's record has no field for it
        description = f"{description} Schema: {json.dumps(inside, ensure_ascii=False)}".strip()
    return Parameter(
        name=name,
        type=TYPES.get(about["type"], about["type"].upper()),
        description=description,
        default=about.get("default"),
        enum=tuple(about.get("enum", ())),
    )


def _first_arguments(
    values: Mapping[str, Sequence[Any]], function: Mapping[str, Any], language: Language | None
) -> dict[str, Any]:
    properties = function["parameters"]["properties"]
    chosen = {name: _first(options, properties.get(name, {})) for name, options in values.items()}
    found = {name: value for name, value in chosen.items() if value is not None}
    return {name: language.source(value, properties[name]) for name, value in found.items()} if language else found


def _first(options: Sequence[Any], about: Mapping[str, Any]) -> Any:
    """Return the first right value, or None if the parameter is to be omitted."""
    option = next((option for option in options if option != ""), None)
    if isinstance(option, dict):
        return _first_fields(option)
    if isinstance(option, list) and about.get("items", {}).get("type") == "dict":
        return [_first_fields(item) if isinstance(item, dict) else item for item in option]
    return option


def _first_fields(option: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: next((one for one in values if one != ""), None) for name, values in option.items()}
    return {name: value for name, value in fields.items() if value is not None}
