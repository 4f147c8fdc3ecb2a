"""What Pydantic AI does by itself: the rows of the table in docs/reference/frameworks.md."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from support.adapters import failure, results, said

from trialbed.wire import Call
from trialbed_adapter_lab import Harness, tool
from trialbed_adapter_lab.trials import without_message
from trialbed_scripted import ModelTurn, Response, ask, call, fail, forever, say

pytestmark = [
    pytest.mark.framework("pydantic-ai:native"),
    pytest.mark.skipif(
        tuple(map(int, version("pydantic-ai-slim").split(".")[:2])) < (2, 60), reason="older releases do otherwise"
    ),
]

ECHO = call("Echo_text", {"text": "one"})
GIVEN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "title": "City"},
        "free": {"type": "object"},
        "map": {"type": "object", "additionalProperties": {"type": "number"}},
    },
    "required": ["city"],
}
OFFERED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "free": {"type": "object", "properties": {}, "additionalProperties": False},
        "map": {"type": "object", "properties": {}, "additionalProperties": {"type": "number"}},
    },
    "required": ["city"],
    "additionalProperties": False,
}
STRICT: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
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


async def test_objects_are_closed_and_titles_go(harness: Harness) -> None:
    record = await harness.run("done", tools=(tool(parameters=GIVEN), tool("Strict", parameters=STRICT)))
    loose, strict = record.requests[0].functions
    assert (loose["parameters"], "strict" in loose) == (OFFERED, False)
    assert (strict["parameters"], strict["strict"]) == (STRICT, True)


@pytest.mark.filterwarnings("ignore:Sampling parameters")
@pytest.mark.parametrize(("model", "sent"), [("gpt-5", False), ("gpt-4o", True), ("qwen3-8b", True)])
async def test_models_that_reason_get_no_temperature(harness: Harness, model: str, sent: bool) -> None:
    record = await harness.run("done", model=model, temperature=0.5)
    assert ("temperature" in record.requests[0].body) is sent


@pytest.mark.parametrize("turn", [[call("no_such")], [ECHO, call("no_such")]], ids=["alone", "beside a good call"])
async def test_an_unknown_tool_is_told_with_all_names_and_the_second_one_ends_the_run(
    harness: Harness, turn: list[Call]
) -> None:
    record = await harness.run(ask(*turn), "done")
    assert (said(record), len(record.calls)) == ("done", len(turn) - 1)
    assert "Unknown tool name: 'no_such'. Available tools: 'Echo_text'" in results(record)[-1]
    again = await harness.run(forever(ask(*turn)))
    assert failure(again).startswith("UnexpectedModelBehavior: Tool 'no_such' exceeded max retries count of 1")
    assert len(again.requests) == 2


@pytest.mark.parametrize("text", ['{"text": ', "{'text': 'x'}"])
async def test_arguments_that_are_not_json_are_told_once(harness: Harness, text: str) -> None:
    record = await harness.run(call("Echo_text", text), "done")
    assert (said(record), record.calls) == ("done", ())
    assert "json_invalid" in results(record)[0]
    again = await harness.run(forever(ask(call("Echo_text", text))))
    assert (said(again), len(again.requests)) == ("UnexpectedModelBehavior", 2)


@pytest.mark.parametrize(("text", "seen"), [("[1]", "TypeError"), ('"text"', "TypeError"), ("null", "AssertionError")])
async def test_json_that_is_no_object_ends_the_run(harness: Harness, text: str, seen: str) -> None:
    record = await harness.run(call("Echo_text", text), "done")
    assert (said(record), len(record.requests), record.calls) == (seen, 1, ())


@pytest.mark.parametrize("arguments", [{"text": 1}, {}, {"text": "x", "more": 1}, {"text": None}, {"self": "x"}])
async def test_arguments_are_not_validated(harness: Harness, arguments: dict[str, Any]) -> None:
    record = await harness.run(call("Echo_text", arguments), "done")
    assert (said(record), [made.arguments for made in record.calls]) == ("done", [arguments])


async def test_a_tool_that_raises_ends_the_run(monkeypatch: pytest.MonkeyPatch, harness: Harness) -> None:
    async def explode(*_: object) -> str:
        raise RuntimeError("backend exploded")

    monkeypatch.setattr("trialbed.Tool.ainvoke", explode)
    record = await harness.run(ECHO, "done")
    assert (failure(record), len(record.requests)) == ("RuntimeError: backend exploded", 1)


@pytest.mark.parametrize(
    ("reply", "seen"),
    [
        (say("cut", finish_reason="length"), "cut"),
        (say(None, finish_reason="length"), "OutputTokenLimitExceeded"),
        (say("text", finish_reason="content_filter"), "text"),
        (say(None, finish_reason="content_filter"), "ContentFilterError"),
        (say(None, refusal="I would rather not."), "ContentFilterError"),
        (say("<think>Hm.</think>It says hello."), "It says hello."),
        (without_message, "IndexError"),
        (Response.text('{"error": {"message": "busy"}}'), "UnexpectedModelBehavior"),
    ],
)
async def test_an_odd_end(harness: Harness, reply: ModelTurn | Response, seen: str) -> None:
    record = await harness.run(reply)
    assert (said(record), len(record.requests)) == (seen, 1)


async def test_an_empty_message_is_asked_for_again_once(harness: Harness) -> None:
    record = await harness.run("", "done")
    assert (said(record), len(record.requests)) == ("done", 2)
    assert record.requests[1].said_by("system")[-1] == "Please return text or call a tool."
    again = await harness.run(forever(say("")))
    assert (said(again), len(again.requests)) == ("UnexpectedModelBehavior", 2)


async def test_call_ids_that_are_not_unique_in_a_turn_end_the_run(harness: Harness) -> None:
    record = await harness.run(ask(*[call("Echo_text", {"text": text}, "same") for text in "ab"]), "done")
    assert (said(record), len(record.requests), record.calls) == ("UnexpectedModelBehavior", 1, ())


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(
    ("status", "requests", "seen"),
    [
        (429, 3, "ModelRateLimitError"),
        (500, 3, "ModelServerError"),
        (400, 1, "ModelRequestRejectedError"),
        (401, 1, "ModelAuthenticationError"),
        (403, 1, "ModelAuthenticationError"),
    ],
)
async def test_an_endpoint_that_always_fails(harness: Harness, status: int, requests: int, seen: str) -> None:
    record = await harness.run(forever(fail(status)))
    assert (said(record), len(record.requests)) == (seen, requests)


@pytest.mark.long_trial
async def test_a_model_that_never_stops_is_stopped_after_fifty_requests(harness: Harness) -> None:
    record = await harness.run(forever(ask(ECHO)), max_steps=100, timeout=120.0)
    assert (said(record), len(record.requests), len(record.calls)) == ("UsageLimitExceeded", 50, 50)
