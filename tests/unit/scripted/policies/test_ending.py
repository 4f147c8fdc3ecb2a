"""Frameworks that demand a call in every request, and that write calls and results as text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.cases import for_each

from trialbed.records import ApiRef, ScriptedCall, ToolSpec
from trialbed.wire.dialects import dialect
from trialbed_scripted.policies import PolicyModel, TextHistories

NO_TOOL_TEXT = "I can answer this without any tool."
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = tuple(
    ToolSpec(name=name, description="", parameters=CITY, api=ApiRef(category="C", tool_name="T", api_name=name))
    for name in ("weather", "places")
)
SCRIPT = tuple(ScriptedCall(name=tool.name, arguments={"city": "Oslo"}) for tool in TOOLS)
YES = {"type": "object", "properties": {"won": {"type": "boolean"}}, "required": ["won"]}
ANSWER = {"type": "object", "properties": {"answer": {"type": "any"}}, "required": ["answer"]}


def offer(name: str, parameters: Any = CITY) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


OWN = [offer(tool.name) for tool in TOOLS]
FINISH = offer("final_answer", ANSWER)


def allowed(mode: str, *names: str) -> dict[str, Any]:
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


def played(
    policy: str, tools: list[Any], choice: Any, messages: Any = (), **fields: Any
) -> tuple[str | None, list[tuple[str, Any]]]:
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "q"}, *messages],
        "tools": tools,
        "tool_choice": choice,
        **fields,
    }
    turn = PolicyModel(policy, SCRIPT, TOOLS).turn(dialect().read_request(body))
    return turn.text, [(call.name, json.loads(call.arguments)) for call in turn.calls]


@for_each(
    ("tools", "choice", "calls"),
    [
        ([*OWN, FINISH], "required", [("final_answer", {"answer": NO_TOOL_TEXT})]),
        ([FINISH, *OWN], "required", [("final_answer", {"answer": NO_TOOL_TEXT})]),
        # It takes no text, and still it ends.
        ([*OWN, offer("final_result", YES)], "required", [("final_result", {"won": True})]),
        # Its name says that it ends, while a note may be one.
        ([*OWN, FINISH], "auto", [("final_answer", {"answer": NO_TOOL_TEXT})]),
        ([*OWN, offer("note", ANSWER)], "auto", []),
        ([*OWN, FINISH], "none", []),
        ([*OWN, FINISH], allowed("required", "places", "final_answer"), [("final_answer", {"answer": NO_TOOL_TEXT})]),
        ([*OWN, FINISH], allowed("auto", "places"), []),
        ([*OWN, FINISH], allowed("required", "places"), [("places", {"city": NO_TOOL_TEXT})]),
        # Each type of answer has one: the first that takes the text, or else the first.
        ([*OWN, offer("note", ANSWER), offer("final_result_Yes", YES), offer("final_result_Price", ANSWER),
          offer("final_result_Fail", ANSWER)], "required", [("final_result_Price", {"answer": NO_TOOL_TEXT})]),
        ([*OWN, offer("final_result_Yes", YES), offer("final_result_No", YES)], "required",
         [("final_result_Yes", {"won": True})]),
        ([*OWN, offer("final_result_Price", ANSWER), offer("final_result_Fail", ANSWER)], "auto", []),
        # Without a finish tool, no model could answer.
        (OWN, "required", [("weather", {"city": "sample"})]),
        # Two that might be one: the name decides, or nothing does.
        ([*OWN, offer("note", ANSWER), FINISH], "required", [("final_answer", {"answer": NO_TOOL_TEXT})]),
        ([*OWN, offer("note", ANSWER), offer("memo", ANSWER)], "required", [("weather", {"city": "sample"})]),
        ([*OWN, FINISH], {"type": "function", "function": {"name": "places"}},
         [("places", {"city": NO_TOOL_TEXT})]),
    ],
)  # fmt: skip
def test_an_answer_is_a_call_where_one_is_demanded(tools: list[Any], choice: Any, calls: list[Any]) -> None:
    text, found = played("none", tools, choice)
    assert found == calls
    assert (text is None) == bool(calls)


def test_a_named_tool_is_called_with_the_arguments_of_the_script() -> None:
    assert played("parallel", OWN, {"type": "function", "function": {"name": "places"}}) == (
        None,
        [("places", {"city": "Oslo"})],
    )


PERSON = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
SCHEMAS: list[tuple[dict[str, Any], Any]] = [
    (
        {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]},
        {"answer": NO_TOOL_TEXT},
    ),
    # The one that is called like an answer, with the least of the others.
    (
        {
            "type": "object",
            "properties": {"kind": {"enum": ["a", "b"]}, "reason": {"type": "string"}, "answer": {"type": "string"}},
            "required": ["kind", "reason", "answer"],
            "additionalProperties": False,
        },
        {"kind": "a", "reason": "sample", "answer": NO_TOOL_TEXT},
    ),
    # In a part, behind a reference, in one of several, in a list.
    (
        {
            "$defs": {"Reply": {"type": "object", "properties": {"text": {"type": ["string", "null"]}}}},
            "type": "object",
            "properties": {"person": PERSON, "reply": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Reply"}]}},
            "required": ["person", "reply"],
        },
        {"person": {"age": 1}, "reply": {"text": NO_TOOL_TEXT}},
    ),
    (
        {"type": "object", "properties": {"lines": {"type": "array", "items": {"type": "string"}}}},
        {"lines": [NO_TOOL_TEXT]},
    ),
    ({}, {"answer": NO_TOOL_TEXT}),
    # Without a place for a text.
    (PERSON, {"age": 1}),
    (
        {"type": "object", "properties": {"code": {"type": "string", "maxLength": 3}}, "required": ["code"]},
        {"code": "sam"},
    ),
]


@pytest.mark.parametrize(("schema", "answer"), SCHEMAS)
def test_a_structured_answer_is_filled_to_its_schema_with_the_answer_in_it(schema: dict[str, Any], answer: Any) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
    text, calls = played("none", OWN, "auto", response_format=wanted if schema else {"type": "json_object"})
    assert calls == []
    assert json.loads(text or "") == answer


@pytest.mark.parametrize("fails", [False, True])
def test_a_framework_whose_history_is_text_gets_through_the_script(*, fails: bool) -> None:
    """As smolagents does: calls as text of the assistant, results as text of the user; failed calls are left out."""
    model, histories = PolicyModel("gold", SCRIPT, TOOLS), TextHistories()
    task = [{"type": "text", "text": "New task: q"}]
    messages: list[dict[str, Any]] = [{"role": "system", "content": "s"}, {"role": "user", "content": task}]
    made = []
    for number in range(5):
        body = {"model": "m", "messages": messages, "tools": [*OWN, FINISH], "tool_choice": "required"}
        (call,) = model.turn(dialect().read_request(body), histories).calls
        made.append(call.name)
        if call.name == "final_answer":
            break
        if fails and not number:
            task.append({"type": "text", "text": "Error:\nno such city\nNow let's retry."})
            continue
        messages.append({"role": "assistant", "content": f"Calling tools:\n[{call.name}]"})
        messages.append({"role": "user", "content": f'Observation:\n{{"found": "Evidence {number} of {call.name}"}}'})
    assert made == ["weather", "places", "final_answer"]
    assert "Evidence 1 of places" in json.loads(call.arguments)["answer"]
    assert ("Evidence 0 of weather" in json.loads(call.arguments)["answer"]) is not fails
