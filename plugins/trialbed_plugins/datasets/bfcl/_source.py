"""The leaderboard's files, in the installed wheel ``bfcl-eval``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trialbed.errors import DataError
from trialbed.records import Api, ApiRef, GoldCall, Parameter, Query
from trialbed_plugins.datasets.bfcl._objects import MODULES
from trialbed_plugins.datasets.bfcl._turns import right_call

CATEGORIES = (
    "simple_python",
    "multiple",
    "parallel",
    "parallel_multiple",
    "irrelevance",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "live_irrelevance",
    "live_relevance",
)
"""The test sets of one turn whose calls are checked by Python's types; the first is the default."""

TURNS = ("multi_turn_base", "multi_turn_long_context")
"""The test sets of several turns whose functions and requests are all known from the first turn on."""

BEFORE_REQUESTS = "Fulfil these {count} requests one after the other, each with the tools, before you answer:"

CATEGORY, TOOL = "BFCL", "bfcl"
"""What all functions have in common as Apis."""

TYPES = {"tuple": "ARRAY", "any": "STRING"}
"""Types of the leaderboard -> the words of datasets, where those are others."""


def data_folder() -> Path | None:
    """The data of the installed wheel; None if it is not installed."""
    spec = find_spec("bfcl_eval")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(place) / "data").is_dir():
            return Path(place) / "data"
    return None


@lru_cache(maxsize=4)
def read_rows(folder: Path, category: str) -> dict[str, dict[str, Any]]:
    """The cases of a test set by id, each with its ``answers``.

    Raises:
        DataError: a file cannot be read, or has another form; names it.
    """
    name = f"BFCL_v4_{category}.json"
    rows = {row["id"]: row for row in _lines(folder / name)}
    answers = folder / "possible_answer" / name
    if answers.is_file():
        for row in _lines(answers):
            rows[row["id"]]["answers"] = row["ground_truth"]
    return rows


def with_functions(folder: Path, rows: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The cases of a test set of several turns, each with the functions of its classes.

    Raises:
        DataError: a file cannot be read.
    """
    documents = {
        name: _lines(folder / "multi_turn_func_doc" / f"{module}.json")
        for name, module in MODULES.items()
        if any(name in row["involved_classes"] for row in rows.values())
    }
    return {number: {**row, "function": _functions(row, documents)} for number, row in rows.items()}


def _functions(row: Mapping[str, Any], documents: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    left_out = set(row.get("excluded_function", ()))
    return [
        function for name in row["involved_classes"] for function in documents[name] if function["name"] not in left_out
    ]


def start_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the objects of a case of several turns begin as."""
    return {
        "classes": list(row["involved_classes"]),
        "config": row["initial_config"],
        "long_context": "long_context" in row["id"],
    }


def turns_query_of(row: Mapping[str, Any]) -> Query:
    """A case of several turns as a query: all requests in one text, and the right calls in order."""
    functions = {function["name"]: function for function in row["function"]}
    requests = ["\n".join(message["content"] for message in turn) for turn in row["question"]]
    numbered = "\n\n".join(f"{number}. {request}" for number, request in enumerate(requests, 1))
    return Query(
        query_id=row["id"],
        text=f"{BEFORE_REQUESTS.format(count=len(requests))}\n\n{numbered}",
        apis=tuple(_api(function) for function in functions.values()),
        gold_calls=tuple(
            GoldCall(api=_ref(name), arguments=_named(functions[name], given, named))
            for turn in row.get("answers", ())
            for name, given, named in map(right_call, turn)
        ),
        initial_state=start_of(row),
    )


def _named(function: Mapping[str, Any], given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a right call, each with its name."""
    return dict(zip(function["parameters"]["properties"], given, strict=False)) | dict(named)


def query_of(row: Mapping[str, Any]) -> Query:
    """A case as a query; its gold calls have the first of the values that are right."""
    functions = {function["name"]: function for function in row["function"]}
    return Query(
        query_id=row["id"],
        text="\n\n".join(message["content"] for turn in row["question"] for message in turn),
        apis=tuple(_api(function) for function in functions.values()),
        gold_calls=tuple(
            GoldCall(api=_ref(name), arguments=_first_arguments(values, functions[name]))
            for answer in row.get("answers", ())
            for name, values in answer.items()
        ),
    )


def _lines(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def _ref(name: str) -> ApiRef:
    return ApiRef(category=CATEGORY, tool_name=TOOL, api_name=name)


def _api(function: Mapping[str, Any]) -> Api:
    schema = function["parameters"]
    required = set(schema.get("required", ()))
    parameters = {name: _parameter(name, about) for name, about in schema["properties"].items()}
    return Api(
        **_ref(function["name"]).model_dump(),
        description=function.get("description", ""),
        required_parameters=tuple(item for name, item in parameters.items() if name in required),
        optional_parameters=tuple(item for name, item in parameters.items() if name not in required),
    )


def _parameter(name: str, about: Mapping[str, Any]) -> Parameter:
    description = str(about.get("description", ""))
    inside = {key: about[key] for key in ("items", "properties") if key in about}
    if inside:  # a parameter's record has no place for what is inside of it
        description = f"{description} Schema: {json.dumps(inside, ensure_ascii=False)}".strip()
    return Parameter(
        name=name,
        type=TYPES.get(about["type"], about["type"].upper()),
        description=description,
        default=about.get("default"),
        enum=tuple(about.get("enum", ())),
    )


def _first_arguments(values: Mapping[str, Sequence[Any]], function: Mapping[str, Any]) -> dict[str, Any]:
    properties = function["parameters"]["properties"]
    chosen = {name: _first(options, properties.get(name, {})) for name, options in values.items()}
    return {name: value for name, value in chosen.items() if value is not None}


def _first(options: Sequence[Any], about: Mapping[str, Any]) -> Any:
    """The first value that is right; None where the parameter is to be left out."""
    option = next((option for option in options if option != ""), None)
    if isinstance(option, dict):
        return _first_fields(option)
    if isinstance(option, list) and about.get("items", {}).get("type") == "dict":
        return [_first_fields(item) if isinstance(item, dict) else item for item in option]
    return option


def _first_fields(option: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: next((one for one in values if one != ""), None) for name, values in option.items()}
    return {name: value for name, value in fields.items() if value is not None}
