"""The reference loop against a model of a few lines."""

from __future__ import annotations

import asyncio
import json

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from trialbed.errors import ModelFailed
from trialbed.records import GIVE_UP, ApiRef, Limits, ModelEndpoint, ToolSpec, Usage
from trialbed.tools import ToolClient, connected_tools
from trialbed_plugins.frameworks.reference import ReferenceAgent

API = ApiRef(category="Weather", tool_name="Weather", api_name="now")
SCHEMA = {"$defs": {"x": {"type": "string"}}, "type": "object", "properties": {"self": {"$ref": "#/$defs/x"}}}
SPEC = ToolSpec(name="Weather_now", description="The weather.", parameters=SCHEMA, api=API)


def call(number, arguments="{}", name="Weather_now"):
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def message(text=None, *calls, **more):
    return {"role": "assistant", "content": text, **({"tool_calls": list(calls)} if calls else {}), **more}


class Rig(ToolClient):
    """A model that says one message after the other, and an Api that answers each call in turn."""

    def __init__(self, *messages, usage=None, virtual=None, **endpoint):
        super().__init__()
        self.requests = []
        self.messages = list(messages)
        self.usage = usage
        self.options = endpoint
        self.virtual = virtual or self.echo
        self.limits = Limits(max_steps=4)

    async def run(self, query="Rain?"):
        model = web.Application()
        model.router.add_post("/v1/chat/completions", self.complete)
        async with TestServer(model) as server:
            url = str(server.make_url("/v1"))
            endpoint = ModelEndpoint(base_url=url, api_key="dummy", model="m", **self.options)
            agent = ReferenceAgent(endpoint, self.limits, system_prompt="Be brief.")
            agent.bind_tools(connected_tools([SPEC], "http://server/virtual", self), server_url="http://server/virtual")
            try:
                return await agent.answer(query)
            finally:
                await agent.close()

    async def post(self, url, body):
        response = await self.virtual(json.loads(body)["tool_input"])
        return 200, json.dumps({"error": "", "response": response}).encode()

    async def complete(self, request):
        self.requests.append((request, await request.json()))
        said = self.messages.pop(0) if len(self.messages) > 1 else self.messages[0]
        if isinstance(said, web.Response):
            return said
        choice = {"message": said, "finish_reason": "stop"}
        return web.json_response({"choices": [choice], **({"usage": self.usage} if self.usage else {})})

    async def echo(self, arguments):
        return json.dumps(arguments)

    def results(self, index=-1):
        return [entry["content"] for entry in self.requests[index][1]["messages"] if entry["role"] == "tool"]


async def test_the_request_is_what_the_rig_asks_for():
    rig = Rig(message("Yes"), temperature=0.5, seed=9, max_tokens=100)
    await rig.run()
    ((request, body),) = rig.requests
    assert request.headers["authorization"] == "Bearer dummy"
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Rain?"}],
        "temperature": 0.5,
        "seed": 9,
        "max_tokens": 100,
        "tools": [
            {
                "type": "function",
                "function": {"name": "Weather_now", "description": "The weather.", "parameters": SCHEMA},
            }
        ],
    }


async def test_calls_are_made_and_claimed_in_order():
    rig = Rig(message(None, call(1, '{"self": "a"}')), message(None, call(2, '{"self": "b"}')), message("Rain"))
    answer = await rig.run()
    assert [(claim.api, claim.arguments, claim.response) for claim in answer.calls] == [
        (API, {"self": "a"}, '{"self": "a"}'),
        (API, {"self": "b"}, '{"self": "b"}'),
    ]
    assert (answer.final_answer, answer.finish, answer.model_turns) == ("Rain", "give_answer", 3)


async def test_calls_of_one_turn_are_made_at_once_and_answered_in_order():
    both = asyncio.Barrier(2)

    async def meet(arguments):
        async with asyncio.timeout(60):
            await both.wait()
        return arguments["self"]

    rig = Rig(message(None, call(1, '{"self": "a"}'), call(2, '{"self": "b"}')), message("done"), virtual=meet)
    answer = await rig.run()
    assert rig.results() == ["a", "b"]
    assert [claim.response for claim in answer.calls] == ["a", "b"]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (call(1, '{"self": '), "Error: the arguments are not JSON"),
        (call(1, "[" * 100_000 + "]" * 100_000), "Error: the arguments are not JSON"),
        (call(1, "[1]"), "Error: the arguments must be a JSON object"),
        (call(1, "{}", "Weather_later"), "Error: there is no tool 'Weather_later'"),
    ],
)
async def test_what_is_no_call_goes_back_to_the_model(wrong, text):
    rig = Rig(message(None, wrong), message("Sorry"))
    answer = await rig.run()
    assert rig.results()[0].startswith(text)
    assert answer.calls == ()
    assert answer.finish == "give_answer"


async def test_arguments_are_not_checked_against_the_schema():
    rig = Rig(message(None, call(1, '{"self": 7, "more": null}')), message("done"))
    assert (await rig.run()).calls[0].arguments == {"self": 7, "more": None}


async def test_empty_arguments_are_none():
    rig = Rig(message(None, call(1, "")), message("done"))
    assert (await rig.run()).calls[0].arguments == {}


async def test_the_step_limit_ends_the_loop_unfinished():
    rig = Rig(message(None, call(1)))
    answer = await rig.run()
    assert len(rig.requests) == answer.model_turns == 4
    assert (answer.finish, answer.final_answer) == (None, "")
    assert len(answer.calls) == 4


@pytest.mark.parametrize(
    ("text", "finish"), [("", None), (None, None), (f"{GIVE_UP} no way", "give_up_and_restart"), ("42", "give_answer")]
)
async def test_the_ending_is_read_from_the_text(text, finish):
    assert (await Rig(message(text)).run()).finish == finish


async def test_usage_is_added_up_and_unknown_if_a_response_has_none():
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    script = (message(None, call(1)), message("done"))
    assert (await Rig(*script, usage=usage).run()).usage == Usage(prompt_tokens=20, completion_tokens=6)
    assert (await Rig(*script).run()).usage is None


async def test_only_what_a_conversation_holds_goes_back_to_the_model():
    rig = Rig(message("thinking", call(1), refusal=None, reasoning_content="…"), message("done"))
    await rig.run()
    assert rig.requests[1][1]["messages"][2] == {
        "role": "assistant",
        "content": "thinking",
        "tool_calls": [call(1)],
    }


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (web.Response(status=500, text="overloaded"), "status 500: overloaded"),
        (web.Response(text="<html>"), "did not answer with a completion"),
        (web.json_response({"choices": []}), "did not answer with a completion"),
        (
            web.json_response({"choices": [{"message": {"tool_calls": [{"id": "x"}]}}]}),
            "did not answer with a completion",
        ),
    ],
)
async def test_a_failing_model_is_an_error_that_says_why(response, text):
    with pytest.raises(ModelFailed, match=text):
        await Rig(response).run()


async def test_an_unreachable_model_is_an_error():
    endpoint = ModelEndpoint(base_url="http://127.0.0.1:9/v1", api_key="dummy", model="m")
    agent = ReferenceAgent(endpoint, Limits(), system_prompt="")
    agent.bind_tools([], server_url="")
    with pytest.raises(ModelFailed, match="could not be reached: ClientConnectorError"):
        await agent.answer("?")
    await agent.close()


async def test_what_a_vendor_adds_to_a_call_goes_back_to_it():
    signed = {**call(1), "extra_content": {"google": {"thought_signature": "s"}}}
    rig = Rig(message(None, signed), message("done"))
    await rig.run()
    assert rig.requests[1][1]["messages"][2]["tool_calls"] == [signed]
