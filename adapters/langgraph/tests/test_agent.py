"""The adapter against a model of a few lines."""

from __future__ import annotations

import json

import pytest

from trialbed import ModelFailed, Usage


def call(number, arguments="{}", name="Weather_now"):
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def message(text=None, *calls):
    return {"role": "assistant", "content": text, **({"tool_calls": list(calls)} if calls else {})}


async def test_the_request_is_what_the_rig_asks_for(rig):
    rig.schema = {
        "$defs": {"city": {"type": "string", "enum": ["Oslo", None]}},
        "type": "object",
        "properties": {"self": {"$ref": "#/$defs/city"}, "config": {"type": "object", "additionalProperties": {}}},
        "required": ["self"],
        "additionalProperties": False,
    }
    rig.endpoint = {"temperature": 0.5, "seed": 9, "max_tokens": 100}
    await rig.run(message("Yes"))
    (request,) = rig.requests
    assert request.pop("stream") is False
    assert request == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Rain?"}],
        "temperature": 0.5,
        "seed": 9,
        "max_tokens": 100,
        "tools": [
            {
                "type": "function",
                "function": {"name": "Weather_now", "description": "The weather.", "parameters": rig.schema},
            }
        ],
    }
    assert rig.headers[0]["authorization"] == "Bearer dummy"


@pytest.mark.parametrize(
    "name", ["self", "config", "run_manager", "input", "a.b", "_p", "__class__", "state", "runtime"]
)
async def test_a_parameter_may_have_any_name(rig, name):
    rig.schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    answer = await rig.run(message(None, call(1, json.dumps({name: "x"}))), message("done"))
    assert [claim.arguments for claim in answer.calls] == [{name: "x"}]
    assert json.loads(rig.results()[0]) == {name: "x"}


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"properties": {}}, {"type": "object", "title": "x"}])
async def test_any_schema_binds(rig, schema):
    rig.schema = schema
    answer = await rig.run(message(None, call(1, "")), message("done"))
    assert answer.calls[0].arguments == {}
    assert rig.requests[0]["tools"][0]["function"]["parameters"] == schema


@pytest.mark.parametrize("arguments", ['{"city": ', "[1]", '"Oslo"', "7", "null"])
async def test_what_is_no_object_goes_back_to_the_model_and_is_no_call(rig, arguments):
    answer = await rig.run(message(None, call(1, arguments)), message("Sorry"))
    assert rig.results() == [f"Error: the arguments are not a JSON object: {arguments}"]
    sent_back = [entry for entry in rig.requests[1]["messages"] if entry["role"] == "assistant"]
    assert sent_back[0]["tool_calls"][0]["function"]["arguments"] == arguments
    assert (answer.calls, answer.final_answer, answer.finish) == ((), "Sorry", "give_answer")


async def test_valid_calls_beside_invalid_ones_are_made(rig):
    both = message(None, call(1, "["), call(2, '{"city": "Oslo"}'), call(3, "[]"))
    answer = await rig.run(both, message("done"))
    assert [claim.arguments for claim in answer.calls] == [{"city": "Oslo"}]
    told = {entry["tool_call_id"] for entry in rig.requests[1]["messages"] if entry["role"] == "tool"}
    assert told == {"call_1", "call_2", "call_3"}


async def test_an_unknown_tool_is_no_call(rig):
    answer = await rig.run(message(None, call(1, "{}", "Weather_later")), message("done"))
    assert answer.calls == ()
    assert "Weather_later" in rig.results()[0]


async def test_the_step_limit_ends_unfinished_without_the_middlewares_words(rig):
    answer = await rig.run(message("hm", call(1)))
    assert len(rig.requests) == answer.model_turns == 4
    assert (answer.finish, answer.final_answer) == (None, "")
    assert len(answer.calls) == 4
    assert answer.usage == Usage(prompt_tokens=40, completion_tokens=12)


@pytest.mark.parametrize("max_steps", [1, 60])
async def test_the_step_limit_is_the_rigs(rig, max_steps):
    rig.max_steps = max_steps
    assert (await rig.run(message(None, call(1)))).model_turns == len(rig.requests) == max_steps


async def test_an_answer_in_the_last_allowed_turn_counts(rig):
    rig.max_steps = 2
    answer = await rig.run(message(None, call(1)), message("just in time"))
    assert (answer.final_answer, answer.finish) == ("just in time", "give_answer")


async def test_ids_that_come_again_are_calls_of_their_own(rig):
    script = [message(None, call(1, json.dumps({"city": city}))) for city in ("Oslo", "Rome")]
    answer = await rig.run(*script, message("done"))
    assert [json.loads(claim.response)["city"] for claim in answer.calls] == ["Oslo", "Rome"]


@pytest.mark.parametrize(
    ("text", "finish"), [("", None), ("GIVE_UP no way", "give_up_and_restart"), ("42", "give_answer")]
)
async def test_the_ending_is_read_from_the_text(rig, text, finish):
    assert (await rig.run(message(text))).finish == finish


async def test_usage_is_unknown_if_the_model_reports_none(rig):
    rig.usage = None
    assert (await rig.run(message("done"))).usage is None


async def test_there_may_be_no_tools(rig):
    assert (await rig.run(message("done"), tools=0)).final_answer == "done"
    assert "tools" not in rig.requests[0]


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
async def test_a_failing_model_is_asked_once_and_is_the_models_failure(rig, status):
    with pytest.raises(ModelFailed, match=str(status)):
        await rig.run(status)
    assert len(rig.requests) == 1


async def test_an_unreachable_model_is_the_models_failure(rig):
    rig.url = "http://127.0.0.1:9"
    with pytest.raises(ModelFailed, match="Connection"):
        await rig.run(message("never"))
