"""The suite *refusals*: whether requests that are wrong are refused, instead of being answered as something else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialbed_verify.suites._catalog import catalog
from trialbed_verify.suites._suite import Line, Suite, function, line, user

NAME = "refusals"

TOOLS = ("get_weather", "get_tide_times")
SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"place": "Oslo"}'}}

PARAMETERS: Mapping[str, tuple[str, Any]] = {
    "temperature-below": ("temperature", -0.1),
    "temperature-above": ("temperature", 2.5),
    "temperature-text": ("temperature", "warm"),
    "top-p-below": ("top_p", -0.5),
    "top-p-above": ("top_p", 1.5),
    "max-tokens-below": ("max_tokens", -1),
    "max-tokens-text": ("max_tokens", "many"),
    "n-zero": ("n", 0),
    "presence-penalty-above": ("presence_penalty", 3),
    "frequency-penalty-below": ("frequency_penalty", -3),
    "stop-object": ("stop", {"word": "rain"}),
    "seed-text": ("seed", "the usual one"),
    "top-logprobs-above": ("top_logprobs", 500),
    "stream-text": ("stream", "perhaps"),
}
"""Case -> a parameter of a request, and a value that the protocol does not allow."""


def _declare(name: Any) -> dict[str, Any]:
    return function(name, "Looks something up.", SCHEMA)


MALFORMED_TOOLS: Mapping[str, Any] = {
    "no-list": {"get_weather": SCHEMA},
    "no-object": ["get_weather"],
    "no-function": [{"type": "function"}],
    "no-name": [{"type": "function", "function": {"description": "Looks something up.", "parameters": SCHEMA}}],
    "unknown-type": [{**_declare("get_weather"), "type": "procedure"}],
    "empty-name": [_declare("")],
    "name-with-spaces": [_declare("get the weather")],
    "name-too-long": [_declare("get_weather_" * 25)],
    "name-a-number": [_declare(5)],
    "same-name-twice": [_declare("get_weather"), _declare("get_weather")],
    "parameters-text": [function("get_weather", "Looks something up.", "a place")],  # type: ignore[arg-type]
    "parameters-no-object": [function("get_weather", "Looks something up.", {"type": "string"})],
    "parameters-unknown-type": [function("get_weather", "Looks something up.", {"type": "thing"})],
}
"""Case -> tools that are none."""

CHOICES: Mapping[str, tuple[Any, bool]] = {
    "unknown-word": ("sometimes", True),
    "a-number": (1, True),
    "tool-not-offered": ({"type": "function", "function": {"name": "get_moon_phase"}}, True),
    "no-name": ({"type": "function"}, True),
    "required-without-tools": ("required", False),
}
"""Case -> a choice of tools that cannot be made, and whether tools are offered."""

FORMATS: Mapping[str, Any] = {
    "unknown-type": {"type": "haiku"},
    "no-type": {"json_schema": {"name": "advice", "schema": SCHEMA}},
    "text": "json",
    "no-schema": {"type": "json_schema"},
    "schema-without-name": {"type": "json_schema", "json_schema": {"schema": SCHEMA}},
    "schema-a-text": {"type": "json_schema", "json_schema": {"name": "advice", "schema": "a place"}},
    "schema-unknown-type": {
        "type": "json_schema",
        "json_schema": {"name": "advice", "strict": True, "schema": {"type": "thing"}},
    },
}
"""Case -> a format of answers that is none."""

MESSAGES: Mapping[str, Any] = {
    "unknown-role": [{"role": "narrator", "content": "It rains in Oslo."}],
    "no-role": [{"content": "It rains in Oslo."}],
    "content-a-number": [{"role": "user", "content": 5}],
    "result-without-call": [
        user("Does it rain in Oslo?"),
        {"role": "tool", "tool_call_id": "call_9", "content": "yes"},
    ],
    "result-without-id": [
        user("Does it rain in Oslo?"),
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "content": "yes"},
    ],
    "call-without-result": [
        user("Does it rain in Oslo?"),
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        user("And now?"),
    ],
}
"""Case -> a conversation that is none."""


RIGHT: Mapping[str, Mapping[str, Any]] = {
    "a parameter": {"temperature": 0.7, "top_p": 0.9, "max_tokens": 200, "n": 1, "seed": 7, "stop": ["###"]},
    "tools": {"tools": [_declare("get_weather"), _declare("get_tide_times")]},
    "tool_choice": {"tools": [_declare("get_weather")], "tool_choice": "required"},
    "response_format": {
        "response_format": {"type": "json_schema", "json_schema": {"name": "advice", "schema": SCHEMA}}
    },
    "messages": {
        "messages": [
            user("Does it rain in Oslo?"),
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "call_1", "content": "no rain before Thursday"},
        ],
        "tools": [_declare("get_weather")],
    },
}
"""Kind -> a request that is right: an endpoint that refuses everything is no good either."""


def _cases() -> Iterator[Line]:
    offered = [dict(tool.declared) for tool in catalog() if tool.name in TOOLS]
    for kind, right in RIGHT.items():
        made = _case(kind, "right", {})
        about = {**made["suite"], "expect": {"answered": True}, "answer": {"text": '{"place": "Oslo"}'}}
        yield {**made, **right, "suite": about}
    for case, (parameter, value) in PARAMETERS.items():
        yield _case("a parameter", case, {parameter: value})
    for case, tools in MALFORMED_TOOLS.items():
        yield _case("tools", case, {"tools": tools})
    for case, (choice, has_tools) in CHOICES.items():
        yield _case("tool_choice", case, {"tool_choice": choice, **({"tools": offered} if has_tools else {})})
    for case, form in FORMATS.items():
        yield _case("response_format", case, {"response_format": form})
    for case, messages in MESSAGES.items():
        yield _case("messages", case, {"messages": messages, "tools": offered})


def _case(kind: str, case: str, wrong: Mapping[str, Any]) -> Line:
    made = line(
        NAME,
        f"{kind.split()[-1].replace('_', '-')}-{case}",
        [user(f"Does it rain in Oslo today? ({case})")],
        # What options and drivers replace on the way is no longer wrong.
        expect={"refusal": dict(wrong) if kind == "a parameter" else True},
        by={"kind": kind},
        answer={"refusal": list(wrong)[:1]},
        stream=False,
    )
    return {**made, **wrong}


SUITE = Suite(
    NAME,
    "whether wrong parameters, malformed tools, formats and conversations are refused (HTTP 400), as the protocol asks",
    len(RIGHT) + len(PARAMETERS) + len(MALFORMED_TOOLS) + len(CHOICES) + len(FORMATS) + len(MESSAGES),
    _cases,
)
