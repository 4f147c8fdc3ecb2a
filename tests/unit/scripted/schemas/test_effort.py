"""Requests whose schemas take too much work are refused soon, and no others."""

from __future__ import annotations

import time
from typing import Any

import pytest

from trialbed.contracts import QuestionRefused
from trialbed.records import ApiRef, ScriptedCall, ToolSpec
from trialbed.wire.dialects import dialect
from trialbed_scripted.policies import PolicyModel

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = ToolSpec(
    name="weather",
    description="The weather of a city.",
    parameters=PARAMETERS,
    api=ApiRef(category="a", tool_name="b", api_name="c"),
)
BRANCHES = 30
LEVELS = {
    f"level{number}": {
        "anyOf": [
            {
                "type": "object",
                "properties": {"next": {"$ref": f"#/$defs/level{number + 1}"}},
                "required": ["next"],
                "title": f"{branch}",
            }
            for branch in range(BRANCHES)
        ]
    }
    for number in range(12)
}
SCHEMAS: dict[str, Any] = {
    "a list of 40,000 values of which none fits": {"type": "integer", "enum": ["a"] * 40_000},
    "alternatives in alternatives": {"$ref": "#/$defs/level0"},
    "300 long patterns": {"allOf": [{"type": "string", "pattern": rf"^[\w\s]{{1,4096}}{n}$"} for n in range(300)]},
    "3,000 properties": {
        "type": "object",
        "properties": {f"p{n}": {"type": "integer", "minimum": 5} for n in range(3000)},
        "required": [f"p{n}" for n in range(3000)],
    },
    "100,000 items": {"type": "array", "minItems": 100_000, "items": {"type": "integer"}},
    "a number that no float is": {"type": "number", "minimum": 10**400, "multipleOf": 3},
}


def asked(parameters: Any, name: str = TOOL.name, **more: Any) -> Any:
    tools = [{"type": "function", "function": {"name": name, "description": "?", "parameters": parameters}}]
    document = {"model": "m", "messages": [{"role": "user", "content": "Oslo?"}], "tools": tools, **more}
    return PolicyModel("gold", [ScriptedCall(name=TOOL.name, arguments={"city": "Oslo"})], [TOOL]).turn(
        dialect().read_request(document)
    )


@pytest.mark.parametrize("case", SCHEMAS)
def test_an_intricate_schema_is_refused_within_two_seconds(case: str) -> None:
    schema = {
        "type": "object",
        "properties": {"p": SCHEMAS[case]},
        "required": ["p"],
        "$defs": {**LEVELS, "level12": {"type": "integer", "enum": ["a"]}},
    }
    began = time.process_time()
    with pytest.raises(QuestionRefused):
        asked(schema)
    assert time.process_time() - began < 2


def test_many_renamed_tools_with_schemas_of_their_own_are_not() -> None:
    tools = [
        {"type": "function", "function": {"name": f"other_{n}", "description": f"Other {n}.", "parameters": PARAMETERS}}
        for n in range(200)
    ]
    offered = {**PARAMETERS, "additionalProperties": False}
    own = {"type": "function", "function": {"name": "Weather", "description": "?", "parameters": offered}}
    assert asked(PARAMETERS, tools=[*tools, own]).calls[0].name == "Weather"
