"""LangGraph's own traps, and LangChain's."""

from __future__ import annotations

import pytest

from trialbed import Usage
from trialbed_adapter_lab import tool
from trialbed_scripted import Response, ask, call, forever

pytestmark = pytest.mark.framework("langgraph:controlled")

TEXT = {"type": "string"}


@pytest.mark.parametrize(
    "name", ["self", "config", "run_manager", "callbacks", "input", "tool_input", "state", "runtime", "store", "kwargs"]
)
async def test_parameters_may_have_the_names_that_langchain_uses_itself(harness, name):
    schema = {"type": "object", "properties": {name: TEXT}, "required": [name]}
    record = await harness.run(call("Echo_text", {name: "x"}), "done", tools=[tool(parameters=schema)])
    assert [made.arguments for made in record.calls] == [{name: "x"}]
    assert [claim.arguments for claim in record.answer.calls] == [{name: "x"}]


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


async def test_valid_calls_beside_invalid_ones_do_not_wait_for_another_turn(harness):
    turn = ask(call("Echo_text", "["), call("Echo_text", {"text": "a"}), call("Echo_text", "[]"))
    record = await harness.run(turn, "done")
    assert [made.arguments for made in record.calls] == [{"text": "a"}]
    assert {answered for answered, _ in record.requests[1].results} == {"call_0_0", "call_0_1", "call_0_2"}
    assert [claim.arguments for claim in record.answer.calls] == [{"text": "a"}]


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


async def test_the_temperature_is_zero_where_none_is_given(harness):
    record = await harness.run("done", temperature=None)
    assert record.requests[0].body["temperature"] == 0.0
