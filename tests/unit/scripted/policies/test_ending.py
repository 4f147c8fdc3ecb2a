"""Frameworks that demand a call in every request, and that write calls and results as text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.cases import for_each

from trialbed.records import ApiRef, ScriptedCall, ToolSpec
from trialbed.wire.dialects import dialect
from trialbed_scripted import ReceivedRequest, call, policy
from trialbed_scripted.policies import PolicyModel, TextHistories
from trialbed_scripted.policies._policies import NO_TOOL_TEXT

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


def test_only_allowed_tools_are_called() -> None:
    calls = [("weather", {"city": "Oslo"}), ("places", {"city": "Oslo"})]
    assert played("parallel", OWN, "auto") == (None, calls)
    assert played("parallel", OWN, allowed("auto", "places")) == (None, calls[1:])
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}], "tools": OWN}
    turn = PolicyModel("gold", SCRIPT, TOOLS).turn(
        dialect().read_request({**body, "tool_choice": allowed("auto", "places")})
    )
    assert [(lost.tool, lost.reason, lost.detail) for lost in turn.lost] == [
        ("weather", "not offered", "the request does not allow weather to be called")
    ]


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


@pytest.mark.parametrize("schema", [schema for schema, _ in SCHEMAS[:3]])
def test_an_output_tool_is_filled_likewise(schema: dict[str, Any]) -> None:
    _, ((name, arguments),) = played("none", [*OWN, offer("final_result", schema)], "required")
    assert name == "final_result"
    assert NO_TOOL_TEXT in json.dumps(arguments)


def test_a_schema_that_refers_to_itself_ends() -> None:
    names = [f"p{number}" for number in range(12)]
    node = {"type": "object", "properties": {name: {"$ref": "#"} for name in names}}
    wanted = {"type": "json_schema", "json_schema": {"name": "reply", "schema": node}}
    text, _ = played("none", OWN, "auto", response_format=wanted)
    assert json.loads(text or "") == {}


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


def test_the_results_of_several_calls_in_one_text_are_all_evidence() -> None:
    model, histories = PolicyModel("parallel", SCRIPT, TOOLS), TextHistories()
    messages: list[dict[str, Any]] = [{"role": "user", "content": "New task: q"}]
    body = {"model": "m", "messages": messages, "tools": [*OWN, FINISH], "tool_choice": "required"}
    assert len(model.turn(dialect().read_request(body), histories).calls) == 2
    messages.append({"role": "assistant", "content": "Calling tools:\n[weather, places]"})
    text = '{"found": "Evidence of weather"}\n{"found": "Evidence of places"}\nError: no such city'
    messages.append({"role": "user", "content": f"Observation:\n{text}"})
    (call,) = model.turn(dialect().read_request(body), histories).calls
    assert "Evidence of weather; Evidence of places." in json.loads(call.arguments)["answer"]


def test_an_own_tool_of_the_script_that_takes_a_text_is_not_the_finish_tool() -> None:
    model = policy("none", call("lookup", city="Oslo"))
    body = {"messages": [], "tools": [offer("lookup"), offer("Price", ANSWER)], "tool_choice": "required"}
    (end,) = model.turn(dialect().read_request(body)).calls
    assert (end.name, json.loads(end.arguments)) == ("Price", {"answer": NO_TOOL_TEXT})


@for_each("name", ["gold", "parallel", "retry"])
def test_calls_of_the_history_that_an_agent_gives_are_not_of_the_script(name: str) -> None:
    asked = {"id": "old", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bonn"}'}}
    history: list[Any] = [
        {"role": "user", "content": "an example"},
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "old", "content": '{"found": "frost"}'},
        {"role": "assistant", "content": "frost"},
    ]

    def play(*given: dict[str, Any]) -> list[Any]:
        model, histories = PolicyModel(name, SCRIPT, TOOLS), TextHistories()
        messages: list[Any] = [*given, {"role": "user", "content": "q"}]
        turns = []
        while True:
            body = {"model": "m", "messages": messages, "tools": OWN}
            turn = model.turn(dialect().read_request(body), histories)
            turns.append((turn.text, turn.calls))
            if not turn.calls:
                return turns
            calls = [
                {"id": str(at), "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
                for at, one in enumerate(turn.calls)
            ]
            messages = [*messages, {"role": "assistant", "content": None, "tool_calls": calls}]
            messages += [{"role": "tool", "tool_call_id": one["id"], "content": '{"found": "rain"}'} for one in calls]

    turns = play(*history)
    assert turns == play()
    assert len(turns) > 1
    assert "rain" in turns[-1][0]


def test_a_conversation_that_does_not_begin_with_the_history_is_read_as_a_whole() -> None:
    model, histories = PolicyModel("gold", SCRIPT, TOOLS), TextHistories()
    asked = {"id": "old", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    made: list[Any] = [
            {"role": "assistant", "content": None, "tool_calls": [asked]},
            {"role": "tool", "tool_call_id": "old", "content": "{}"}]  # fmt: skip

    def called(*messages: dict[str, Any]) -> list[str]:
        body = {"model": "m", "messages": [*messages], "tools": OWN}
        return [made.name for made in model.turn(dialect().read_request(body), histories).calls]

    assert called({"role": "user", "content": "before"}, *made, {"role": "user", "content": "q"}) == ["weather"]
    assert called({"role": "user", "content": "q"}, *made) == ["places"]
    # Calls of later requests only are the model's.
    histories = TextHistories()
    assert called({"role": "user", "content": "q"}) == ["weather"]
    assert called({"role": "user", "content": "q"}, *made) == ["places"]


def test_another_conversation_of_the_trial_begins_the_script_anew() -> None:
    model, histories = PolicyModel("gold", SCRIPT, TOOLS), TextHistories()
    for text in ("first", "second", "first"):
        body = {"model": "m", "messages": [{"role": "user", "content": text}], "tools": OWN}
        (call,) = model.turn(dialect().read_request(body), histories).calls
        assert call.name == "weather"


def test_a_conversation_of_another_client_that_begins_alike_is_another_one() -> None:
    model = policy("gold", call("find", id=7))
    find = offer("find", {"type": "object", "properties": {"id": {"type": "integer"}}})

    def calls(*messages: dict[str, Any]) -> list[str]:
        turn = model(ReceivedRequest(0, {"model": "m", "messages": [*messages], "tools": [find]}))
        return [made.name for made in turn.calls]

    asked = {"role": "user", "content": "List my orders"}
    assert calls(asked) == ["find"]
    assert calls({"role": "user", "content": "List my orders of May"}) == ["find"]
    # What goes on has a text of its own.
    assert calls(asked, {"role": "user", "content": 'Observation:\n{"found": 3}'}) == []


def test_the_call_that_is_not_needed_is_no_call_of_a_finish_tool() -> None:
    for finish, declared in (("final_answer", ""), ("submit_it", "submit_it")):
        model = PolicyModel("extra", SCRIPT, TOOLS, declared)
        body: dict[str, Any] = {"messages": [], "tools": [*OWN, offer(finish, ANSWER)]}
        first = model.turn(dialect().read_request(body))
        assert [call.name for call in first.calls] == ["weather"]
        done = [{"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}} for name in ("a", "b")]
        results = [{"role": "tool", "tool_call_id": one["id"], "content": "{}"} for one in done]
        body["messages"] = [{"role": "assistant", "content": None, "tool_calls": done}, *results]
        (end,) = model.turn(dialect().read_request(body)).calls
        # There is no other tool to call: the answer follows.
        assert end.name == finish
        assert json.loads(end.arguments)["answer"] != "sample"
