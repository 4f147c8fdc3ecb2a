"""What is particular to the OpenAI Agents SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from agents import TracingProcessor, set_trace_processors, set_tracing_disabled

from trialbed_adapter_kit import Raw, Said, Stage, asks, call, forever, tool
from trialbed_openai_agents import OpenAIAgentsAgent

pytestmark = pytest.mark.framework("openai-agents")

ECHO = call("Echo_text", {"text": "one"})
LOCKED = {"error": {"message": "locked", "type": "invalid_request_error", "code": "conversation_locked", "param": None}}


@pytest.fixture
def traces() -> Iterator[list[Any]]:
    """What is traced, with tracing on."""
    seen: list[Any] = []

    class Recorder(TracingProcessor):
        on_trace_start = on_span_start = lambda _, started: seen.append(started)
        on_trace_end = on_span_end = shutdown = force_flush = lambda *_: None

    set_trace_processors([Recorder()])
    set_tracing_disabled(False)
    yield seen
    set_tracing_disabled(True)
    set_trace_processors([])


async def test_a_tool_is_offered_without_a_word_about_strictness(stage: Stage) -> None:
    play = await stage.play("done")
    assert play.requests[0].body["tools"] == [{"type": "function", "function": play.requests[0].functions[0]}]
    assert set(play.requests[0].functions[0]) == {"name", "description", "parameters"}


async def test_text_beside_a_call_of_an_unknown_tool_is_not_the_answer(stage: Stage) -> None:
    play = await stage.play(asks(call("Later", "{}"), text="Let me see."), "done")
    assert play.answer is not None
    assert (play.answer.final_answer, play.answer.calls) == ("done", ())
    assert "Later" in play.requests[1].results[0][1]


async def test_calls_beside_an_unknown_tool_are_made(stage: Stage) -> None:
    play = await stage.play(asks(call("Later", "{}", id="a"), call("Echo_text", {"text": "x"}, id="b")), "done")
    assert [made.arguments for made in play.calls] == [{"text": "x"}]
    assert {made for made, _ in play.requests[1].results} == {"a", "b"}


@pytest.mark.parametrize("second", [{"text": "one"}, {"text": "two"}])
async def test_a_call_under_an_id_that_was_used_is_a_call_of_its_own(stage: Stage, second: dict[str, str]) -> None:
    turns = [asks(call("Echo_text", arguments, id="same")) for arguments in ({"text": "one"}, second)]
    play = await stage.play(*turns, "done")
    assert play.answer is not None
    assert [json.loads(claimed.response) for claimed in play.answer.calls] == [{"text": "one"}, second]
    assert len({made for made, _ in play.requests[2].results}) == 2


async def test_calls_without_ids_are_made(stage: Stage) -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [_without_id("one"), _without_id("two")]}
    play = await stage.play(Raw(body=_completion(message)), "done")
    assert {made.arguments["text"] for made in play.calls} == {"one", "two"}
    assert play.answer is not None
    assert play.answer.final_answer == "done"


@pytest.mark.parametrize("text", ['{"text": "\\ud83d"}', '{"text": ' + "[" * 5_000 + "]" * 5_000 + "}"])
async def test_arguments_that_the_sdk_cannot_take_apart_do_not_end_the_run(stage: Stage, text: str) -> None:
    play = await stage.play(asks(call("Echo_text", text)), "done")
    assert play.answer is not None, play.failure
    assert (play.answer.final_answer, play.answer.calls) == ("done", ())
    assert "not a JSON object" in play.requests[1].results[0][1]


async def test_a_refusal_is_no_answer_and_what_came_before_it_counts(stage: Stage) -> None:
    play = await stage.play(asks(ECHO), Said(None, extras={"refusal": "I would rather not."}))
    assert play.answer is not None, play.failure
    assert (play.answer.final_answer, play.answer.finish, len(play.answer.calls)) == ("", None, 1)
    assert play.answer.model_turns == 2


async def test_an_answer_cut_off_before_its_first_word_is_no_answer(stage: Stage) -> None:
    play = await stage.play(asks(ECHO), Said(None, reason="length"))
    assert play.answer is not None, play.failure
    assert (play.answer.final_answer, play.answer.finish, len(play.answer.calls)) == ("", None, 1)


async def test_a_locked_conversation_is_not_tried_again(stage: Stage) -> None:
    play = await stage.play(Raw(400, json.dumps(LOCKED)), "done")
    assert play.failure is not None
    assert play.failure.kind == "model"
    assert len(play.requests) == 1


@pytest.mark.parametrize("body", ["", "<html>", "[]", "{}", '{"choices": []}', '{"choices": [{"message": null}]}'])
async def test_what_is_no_completion_is_the_models_failure(stage: Stage, body: str) -> None:
    play = await stage.play(Raw(body=body), "done")
    assert play.failure is not None
    assert play.failure.kind == "model"


async def test_nothing_is_traced_even_where_tracing_is_on(stage: Stage, traces: list[Any]) -> None:
    await stage.play(asks(ECHO), "done")
    assert traces == []


async def test_the_step_limit_keeps_what_was_done(stage: Stage) -> None:
    play = await stage.play(forever(asks(ECHO)), max_steps=3)
    assert play.answer is not None
    assert (play.answer.final_answer, play.answer.finish, play.answer.model_turns) == ("", None, 3)
    assert len(play.answer.calls) == len(play.calls) == 3


async def test_a_schema_that_strict_mode_would_reject_is_offered(stage: Stage) -> None:
    schema = {"type": "object", "properties": {"map": {"type": "object", "additionalProperties": {"type": "number"}}}}
    play = await stage.play("done", tools=[tool(parameters=schema)])
    assert play.requests[0].functions[0]["parameters"] == schema


def test_the_version_is_the_sdks() -> None:
    assert OpenAIAgentsAgent.framework_version().startswith("0.")


def _without_id(text: str) -> dict[str, object]:
    return {"id": "", "type": "function", "function": {"name": "Echo_text", "arguments": json.dumps({"text": text})}}


def _completion(message: dict[str, object]) -> str:
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return json.dumps({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})
