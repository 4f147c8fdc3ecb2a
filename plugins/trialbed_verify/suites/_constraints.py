"""The suite *constraints*: whether an endpoint obeys the constraints of a request on the form of its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from trialbed_verify.suites._catalog import catalog
from trialbed_verify.suites._suite import Line, Suite, calls_answer, line, text_answer, user

NAME = "constraints"

CHOICES = ("auto", "none", "required", "named")
PARALLEL = (None, False)
FORMATS = ("text", "json_object", "json_schema")
LIMITS = (None, 16, 1000)

STOPS: Mapping[str, tuple[str, Sequence[str] | str]] = {
    "one": ("Count from one to twenty in English words, with commas between them.", ["seven"]),
    "text": ("Name the days of the week in English, in order, with commas between them.", "Thursday"),
    "several": ("Name the planets of our solar system from the sun outwards, with commas.", ["Saturn", "Jupiter"]),
    "letters": ("Write the English alphabet in capital letters, with a space between two of them.", ["M N"]),
    "line": ("List four fruits, one on each line, without anything else.", ["\n"]),
    "number": ("Count from 90 to 110 in digits, with commas between them.", ["100"]),
}
"""Case -> a request, and the stop sequences at which its answer ends."""

COUNTED = """one, two, three, four, five, six, seven, eight; Monday, Tuesday, Wednesday, Thursday, Friday;
Mars, Jupiter, Saturn; J K L M N O P; 98, 99, 100, 101"""
"""An answer in which each of them occurs."""

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
    for (name, (text, stop)), stream in product(STOPS.items(), (True, False)):
        yield _stop_case(name, text, stop, stream=stream)


def _stop_case(name: str, text: str, stop: Sequence[str] | str, *, stream: bool) -> Line:
    return line(
        NAME,
        f"stop-{name}-{'streamed' if stream else 'whole'}",
        [user(text)],
        expect={"answered": True, "without": [stop] if isinstance(stop, str) else list(stop)},
        by={"stop": name},
        answer=text_answer(COUNTED),
        stream=stream,
        stop=stop,
    )


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
    "whether stop, and tool_choice, parallel_tool_calls, response_format and max_tokens in any combination, are obeyed",
    84,
    _cases,
)
