"""LangGraph's own traps, and LangChain's."""

from __future__ import annotations

import pytest

from trialbed import Usage
from trialbed_adapter_lab import tool
from trialbed_scripted import Response, ask, call, forever

pytestmark = pytest.mark.framework("langgraph:controlled")

TEXT = {"type": "string"}


async def test_schemas_with_references_are_not_written_out(harness):
    schema = {
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        "type": "object",
        "properties": {"first": {"$ref": "#/$defs/node", "title": "First"}},
    }
    record = await harness.run("done", tools=[tool(parameters=schema)])
    assert record.requests[0].parameters("Echo_text") == schema


DEEP = '{"text": ' + "[" * 5_000 + "]" * 5_000 + "}"


@pytest.mark.parametrize(
    "arguments", ['{"text": ', "[1]", '"Oslo"', "7", "null", "true", r'{"text": "\ud83d"}', DEEP, "1" * 5_000]
)
async def test_what_is_no_object_goes_back_as_the_model_wrote_it(harness, arguments):
    record = await harness.run(call("Echo_text", arguments), "sorry")
    _, second = record.requests
    assert second.messages[2]["tool_calls"][0]["function"]["arguments"] == arguments
    assert second.results == [("call_0_0", f"Error: the arguments are not a JSON object: {arguments}")]
    assert (record.answer.calls, record.answer.final_answer) == ((), "sorry")


@pytest.mark.parametrize("max_steps", [1, 2, 40])
async def test_only_the_rigs_limit_ends_the_run_not_the_graphs_own(harness, max_steps):
    said = ask(call("Echo_text", {"text": "a"}), text="hm", usage=Usage(prompt_tokens=10, completion_tokens=3))
    record = await harness.run(forever(said), max_steps=max_steps)
    answer = record.answer
    assert len(record.requests) == answer.model_turns == len(answer.calls) == max_steps
    assert (answer.final_answer, answer.finish) == ("", None)
    assert answer.usage == Usage(prompt_tokens=10 * max_steps, completion_tokens=3 * max_steps)


async def test_the_step_limit_holds_where_every_turn_is_invalid(harness):
    record = await harness.run(forever(ask(call("Echo_text", "{"))), max_steps=3)
    assert len(record.requests) == record.answer.model_turns == 3
    assert (record.answer.final_answer, record.answer.finish) == ("", None)


@pytest.mark.parametrize("choices", [[], None, [None], [{}], [{"message": None}], "none"])
async def test_a_completion_without_a_message_is_the_models_failure(harness, choices):
    document = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
    record = await harness.run(Response.document(document), "an answer that is never asked for")
    assert record.failure.kind == "model"
    assert "did not answer with a completion" in record.failure.message
    assert len(record.requests) == 1
