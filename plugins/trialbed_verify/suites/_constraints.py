"""The suite *constraints*: whether an endpoint obeys the constraints of a request on the form of its answer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from trialbed_verify.suites._catalog import catalog
from trialbed_verify.suites._suite import Line, Suite, calls_answer, line, text_answer, user

NAME = "constraints"

CHOICES = ("auto", "none", "required", "named")
PARALLEL = (None, False)
FORMATS = ("text", "json_object", "json_schema")
LIMITS = (None, 16, 1000)

TOOLS = ("get_weather", "get_tide_times", "find_flights")
NAMED = "get_tide_times"
PLACES = ("Oslo", "Brest", "Porto", "Genoa", "Split", "Varna", "Malmö", "Gdynia")

SCHEMA = {
    "type": "object",
    "properties": {"place": {"type": "string"}, "advice": {"type": "string"}},
    "required": ["place", "advice"],
    "additionalProperties": False,
}
ADVICE = (
    "I cannot look it up here, so take a coat that keeps the rain out: by the sea the wind turns quickly in autumn."
)


def _cases() -> Iterator[Line]:
    for number, (choice, parallel, form, limit) in enumerate(product(CHOICES, PARALLEL, FORMATS, LIMITS)):
        yield _case(number, choice, parallel, form, limit)


def _case(number: int, choice: str, parallel: bool | None, form: str, limit: int | None) -> Line:
    place, other = PLACES[number % len(PLACES)], PLACES[(number + 3) % len(PLACES)]
    request: dict[str, Any] = {"tool_choice": _tool_choice(choice)}
    if parallel is not None:
        request["parallel_tool_calls"] = parallel
    if form != "text":
        request["response_format"] = _format(form)
    if limit is not None:
        request["max_tokens"] = limit
    return line(
        NAME,
        f"{choice}-{'default' if parallel is None else 'one'}-{form}-{limit or 'unlimited'}",
        [user(_text(number, place, other, form))],
        tools=[dict(tool.declared) for tool in catalog() if tool.name in TOOLS],
        expect=_expectations(choice, parallel, form, limit),
        by={
            "tool_choice": choice,
            "parallel_tool_calls": str(parallel),
            "response_format": form,
            "max_tokens": str(limit),
        },
        answer=calls_answer(*(("get_weather", {"place": town, "days": 1}) for town in (place, other)))
        | text_answer(ADVICE),
        **request,
    )


def _text(number: int, place: str, other: str, form: str) -> str:
    """Write a request that needs two calls; tool_choice and parallel_tool_calls are not put in words."""
    how = " If you answer in text, answer as a JSON object with the keys place and advice." if form != "text" else ""
    return f"Request {number + 1}: what to wear tomorrow by the sea in {place}, and in {other}? Look both up.{how}"


def _tool_choice(choice: str) -> Any:
    return {"type": "function", "function": {"name": NAMED}} if choice == "named" else choice


def _format(form: str) -> dict[str, Any]:
    if form == "json_object":
        return {"type": form}
    return {"type": form, "json_schema": {"name": "advice", "strict": True, "schema": SCHEMA}}


def _expectations(choice: str, parallel: bool | None, form: str, limit: int | None) -> dict[str, Any]:
    expected: dict[str, Any] = {"answered": True}
    if choice != "auto":
        expected["calls"] = choice != "none"
    if choice == "named":
        expected["tool"] = [NAMED]
    if parallel is False:
        expected["most_calls"] = 1
    if form != "text":
        expected["json"] = SCHEMA if form == "json_schema" else True
    if limit is not None:
        expected["most_tokens"] = limit
    return expected


SUITE = Suite(
    NAME,
    "whether tool_choice, parallel_tool_calls, response_format and max_tokens are obeyed, in every combination",
    72,
    _cases,
)
