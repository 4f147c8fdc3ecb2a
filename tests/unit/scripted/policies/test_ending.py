"""Frameworks that demand a call in every request, and that write calls and results as text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.cases import for_each

from trialbed.records import ApiRef, ScriptedCall, ToolSpec
from trialbed.wire.dialects import dialect
from trialbed_scripted.policies import PolicyModel, TextHistories
from trialbed_scripted.policies._policies import NO_TOOL_TEXT

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = tuple(
    ToolSpec(name=name, description="", parameters=CITY, api=ApiRef(category="C", tool_name="T", api_name=name))
    for name in ("weather", "places")
)
SCRIPT = tuple(ScriptedCall(name=tool.name, arguments={"city": "Oslo"}) for tool in TOOLS)
ANSWER = {"type": "object", "properties": {"answer": {"type": "any"}}, "required": ["answer"]}


def offer(name: str, parameters: Any = CITY) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


OWN = [offer(tool.name) for tool in TOOLS]
FINISH = offer("final_answer", ANSWER)


def played(policy: str, tools: list[Any], choice: Any, messages: Any = ()) -> tuple[str | None, list[tuple[str, Any]]]:
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "q"}, *messages],
        "tools": tools,
        "tool_choice": choice,
    }
    turn = PolicyModel(policy, SCRIPT, TOOLS).turn(dialect().read_request(body))
    return turn.text, [(call.name, json.loads(call.arguments)) for call in turn.calls]


@for_each(
    ("tools", "choice", "calls"),
    [
        ([*OWN, FINISH], "required", [("final_answer", {"answer": NO_TOOL_TEXT})]),
        ([FINISH, *OWN], "required", [("final_answer", {"answer": NO_TOOL_TEXT})]),
        ([*OWN, FINISH], "auto", []),
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


def test_another_conversation_of_the_trial_begins_the_script_anew() -> None:
    model, histories = PolicyModel("gold", SCRIPT, TOOLS), TextHistories()
    for text in ("first", "second", "first"):
        body = {"model": "m", "messages": [{"role": "user", "content": text}], "tools": OWN}
        (call,) = model.turn(dialect().read_request(body), histories).calls
        assert call.name == "weather"
