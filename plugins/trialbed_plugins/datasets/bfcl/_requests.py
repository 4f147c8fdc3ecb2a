"""Convert cases with several turns to queries. Their user writes the next request after each answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from trialbed.records import Api, ApiRef, GoldCall, Parameter, Query, UserTurn
from trialbed_plugins.datasets.bfcl._checker import Call
from trialbed_plugins.datasets.bfcl._objects import MODULES
from trialbed_plugins.datasets.bfcl._source import api_of, read_lines, ref_of
from trialbed_plugins.datasets.bfcl._turns import right_call

USE = "bfcl_use_function"
"""An API outside all classes, which calls a function that came with a later request."""

MORE = "I have updated some more functions you can choose from. What about now?"
"""The leaderboard's message when functions come later."""

HOW = f"Call them with {USE}:"

Row = Mapping[str, Any]


def with_functions(folder: Path, rows: Mapping[str, Row]) -> dict[str, dict[str, Any]]:
    """Return the cases of a test set with several turns, with the functions of their classes.

    ``function`` has the functions of the first request, ``later`` the functions that come with a turn.

    Raises:
        DataError: a file cannot be read.
    """
    documents = {
        name: read_lines(folder / "multi_turn_func_doc" / f"{module}.json")
        for name, module in MODULES.items()
        if any(name in row["involved_classes"] for row in rows.values())
    }
    return {number: {**row, **_functions(row, documents)} for number, row in rows.items()}


def _functions(row: Row, documents: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    left_out = set(row.get("excluded_function", ()))
    known = {
        function["name"]: function
        for name in row["involved_classes"]
        for function in documents[name]
        if function["name"] not in left_out
    }
    later = {
        turn: [known.pop(name) for name in names if name in known]
        for turn, names in row.get("missed_function", {}).items()
    }
    return {"function": list(known.values()), "later": later}


def start_of(row: Row) -> dict[str, Any]:
    return {
        "classes": list(row["involved_classes"]),
        "config": row["initial_config"],
        "long_context": "long_context" in row["id"],
    }


def turns_query_of(row: Row) -> Query:
    """Convert a case with several turns to a query, with the right calls for each request."""
    later = [function for functions in row["later"].values() for function in functions]
    right = [[*_gold_calls(row, turn, later)] for turn in row.get("answers", ())]
    counts = [*map(len, right), *[0] * len(row["question"])]
    turns = [UserTurn(text=text, calls=count) for text, count in zip(_requests(row), counts, strict=False)]
    apis = [*map(api_of, row["function"]), *([USE_API] if later else [])]
    return Query(
        query_id=row["id"],
        text=turns[0].text,
        apis=tuple(apis),
        gold_calls=tuple(chain.from_iterable(right)),
        turns=tuple(turns),
        initial_state=start_of(row),
    )


def _requests(row: Row) -> Iterator[str]:
    for place, turn in enumerate(row["question"]):
        text = "\n".join(message["content"] for message in turn)
        functions = row["later"].get(str(place))
        if functions:
            text = "\n\n".join((*filter(None, [text]), MORE, HOW, json.dumps(functions, ensure_ascii=False)))
        yield text


def _gold_calls(row: Row, turn: Sequence[str], later: Sequence[Row]) -> Iterator[GoldCall]:
    here = {function["name"]: function for function in row["function"]}
    there = {function["name"]: function for function in later}
    for name, named, given in map(right_call, turn):
        arguments = _name_arguments((here | there)[name], given, named)
        if name in here:
            yield GoldCall(api=ref_of(name), arguments=arguments)
        else:
            yield GoldCall(api=USE_API.ref, arguments={"function": name, "arguments": arguments})


def _name_arguments(function: Row, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    return dict(zip(function["parameters"]["properties"], given, strict=False)) | dict(named)


def _api(name: str, description: str, *parameters: Parameter) -> Api:
    ref: ApiRef = ref_of(name)
    return Api(**ref.model_dump(), description=description, required_parameters=parameters)


USE_API = _api(
    USE,
    "Calls a function that the user has described in a request.",
    Parameter(name="function", description="the function's name"),
    Parameter(name="arguments", type="DICT", description="its arguments by name"),
)


def function_called(name: str, arguments: Mapping[str, Any]) -> Call:
    """Return the function that a call means. For ``bfcl_use_function``, this is the one in its arguments."""
    if name != USE:
        return name, arguments
    function, given = arguments.get("function"), arguments.get("arguments")
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return name, arguments
    return (function, given) if isinstance(function, str) and isinstance(given, dict) else (name, arguments)
