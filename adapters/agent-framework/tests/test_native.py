"""What the framework does by itself: the rows of the table in docs/reference/frameworks.md."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from support.adapters import answered, results, said

from trialbed.wire import Call
from trialbed_adapter_lab import Harness, tool
from trialbed_adapter_lab.trials import without_message
from trialbed_scripted import ModelTurn, Response, ask, call, fail, forever, say

pytestmark = [
    pytest.mark.framework("agent-framework:native"),
    pytest.mark.skipif(
        tuple(map(int, version("agent-framework-core").split(".")[:2])) < (1, 22), reason="older releases do otherwise"
    ),
]

ECHO = call("Echo_text", {"text": "one"})
NOT_PARSED = "Error: Argument parsing failed."
TYPED: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "n": {"type": "integer", "minimum": 1}},
    "required": ["text"],
}


async def test_the_first_request_has_what_was_given_and_a_choice_of_tools(harness: Harness) -> None:
    record = await harness.run("done", query="Why?", system_prompt="Be {brief}.", max_tokens=9, seed=7, temperature=0.5)
    body = record.requests[0].body
    assert {name: body[name] for name in body if name not in ("model", "tools")} == {
        "messages": [{"role": "system", "content": "Be {brief}."}, {"role": "user", "content": "Why?"}],
        "temperature": 0.5,
        "seed": 7,
        "max_completion_tokens": 9,
        "tool_choice": "auto",
        "stream": False,
    }


async def test_texts_of_all_turns_are_one_answer(harness: Harness) -> None:
    record = await harness.run(ask(ECHO, text="First."), "Second.")
    answer = answered(record)
    assert (answer.final_answer, answer.finish, answer.model_turns) == ("First.Second.", "give_answer", 2)
    assert [(made.name, made.arguments, made.response) for made in answer.calls] == [
        ("Echo_text", {"text": "one"}, '{"text": "one"}')
    ]
    assert answer.usage is not None


@pytest.mark.parametrize("turn", [[call("no_such")], [ECHO, call("no_such")]], ids=["alone", "beside a good call"])
async def test_an_unknown_tool_is_an_error_for_the_model(harness: Harness, turn: list[Call]) -> None:
    record = await harness.run(ask(*turn), "done")
    assert (said(record), len(record.calls)) == ("done", len(turn) - 1)
    assert results(record)[-1] == 'Error: Requested function "no_such" not found.'


@pytest.mark.parametrize("text", ['{"text": ', "{'text': 'x'}", "[1]", '"text"', "null"])
async def test_arguments_that_are_no_object_are_an_error_without_a_reason(harness: Harness, text: str) -> None:
    record = await harness.run(call("Echo_text", text), "done")
    assert (said(record), record.calls, results(record)) == ("done", (), [NOT_PARSED])


async def test_after_three_turns_of_errors_no_tool_may_be_called(harness: Harness) -> None:
    record = await harness.run(forever(ask(call("Echo_text", "[1]"))), max_steps=20)
    assert [request.body["tool_choice"] for request in record.requests] == ["auto"] * 3 + ["none"]


@pytest.mark.parametrize(
    ("arguments", "made"),
    [
        ({}, False),
        ({"text": 1}, False),
        ({"text": "x", "n": "3"}, False),
        ({"text": "x", "more": 1}, True),
        ({"text": "x", "n": 0}, True),
    ],
)
async def test_the_top_level_of_arguments_is_validated(harness: Harness, arguments: dict[str, Any], made: bool) -> None:
    record = await harness.run(call("Echo_text", arguments), "done", tools=[tool(parameters=TYPED)])
    assert (said(record), [one.arguments for one in record.calls]) == ("done", [arguments] if made else [])


async def test_a_parameter_called_self_can_not_be_given(harness: Harness) -> None:
    given = tool(parameters={"type": "object", "properties": {"self": {"type": "string"}}})
    record = await harness.run(call("Echo_text", {"self": "x"}), "done", tools=[given])
    assert (record.calls, results(record)) == ((), ["Error: Function failed."])


async def test_a_tool_that_raises_is_an_error_without_a_reason(
    monkeypatch: pytest.MonkeyPatch, harness: Harness
) -> None:
    async def explode(*_: object) -> str:
        raise RuntimeError("backend exploded")

    monkeypatch.setattr("trialbed.Tool.ainvoke", explode)
    record = await harness.run(ECHO, "done")
    assert (said(record), results(record), answered(record).calls) == ("done", ["Error: Function failed."], ())


@pytest.mark.parametrize(
    ("reply", "seen"),
    [
        (say(""), ""),
        (say("cut", finish_reason="length"), "cut"),
        (say(None, finish_reason="content_filter"), ""),
        (say(None, refusal="I would rather not."), "I would rather not."),
        (say("<think>Hm.</think>It says hello."), "<think>Hm.</think>It says hello."),
        (without_message, ""),
        (Response.text('{"error": {"message": "busy"}}'), "ChatClientException"),
    ],
)
async def test_an_odd_end(harness: Harness, reply: ModelTurn | Response, seen: str) -> None:
    record = await harness.run(reply)
    assert (said(record), len(record.requests)) == (seen, 1)


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(("status", "requests"), [(429, 3), (500, 3), (400, 1), (401, 1), (403, 1)])
async def test_an_endpoint_that_always_fails(harness: Harness, status: int, requests: int) -> None:
    record = await harness.run(forever(fail(status)))
    assert (said(record), len(record.requests)) == ("ChatClientException", requests)


@pytest.mark.long_trial
async def test_a_model_that_never_stops_has_forty_turns_and_a_last_word(harness: Harness) -> None:
    record = await harness.run(forever(ask(ECHO)), max_steps=100, timeout=120.0)
    assert said(record) == "Function invocation limit reached before a final answer could be produced."
    assert (len(record.requests), len(record.calls)) == (41, 40)
