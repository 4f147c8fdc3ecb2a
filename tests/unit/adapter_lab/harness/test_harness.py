"""The harness, as authors use it in tests of their own."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from trialbed.contracts import BaseAgent
from trialbed_adapter_lab import CheckFailed, Harness, Latch, breaks, errs, returns, tool
from trialbed_adapter_lab.probes.faulty_answers import FAULTY_ANSWERS
from trialbed_plugins.frameworks.reference import MessagesReferenceAgent, ReferenceAgent, ResponsesReferenceAgent
from trialbed_scripted import ask, call, fail, forever


@pytest.fixture
def harness():
    with Harness(ReferenceAgent) as harness:
        yield harness


async def test_a_trial_is_played_and_seen_from_both_ends(harness):
    record = await harness.run(call("Echo_text", {"text": "hi"}), "done", query="Say hi", seed=7, max_tokens=50)
    assert (record.answer.final_answer, record.failure) == ("done", None)
    assert [(made.tool, made.arguments) for made in record.calls] == [("Echo_text", {"text": "hi"})]
    first, second = record.requests
    assert first.said_by("user") == ["Say hi"]
    assert (first.body["seed"], first.body["max_tokens"]) == (7, 50)
    assert first.parameters("Echo_text") == tool().spec.parameters
    assert second.results == [("call_0_0", '{"text": "hi"}')]
    assert first.started < first.ended <= record.calls[0].started < record.calls[0].ended <= second.started
    assert record.strays == ()
    assert record.connections == 1


async def test_apis_answer_err_and_break(harness):
    tools = [tool("a", returns("text")), tool("b", returns({"x": [1]})), tool("c", errs("no")), tool("d", breaks(503))]
    record = await harness.run(ask(*(call(item.name) for item in tools)), "done", tools=tools)
    assert [text for _, text in record.requests[1].results] == [
        "text",
        '{"x": [1]}',
        "Error: no",
        "Error: the server returned status 503: the harness's Api is broken",
    ]


async def test_a_call_can_be_held_and_looked_at(harness):
    latch = Latch()
    trial = harness.prepare(call("Echo_text", {"text": "x"}), "done", tools=[tool(behave=latch.tool())])
    running = asyncio.create_task(trial.run())
    assert await latch.reached.wait(60)
    assert [made.ended for made in trial.calls] == [None]
    latch.open()
    assert (await running).answer.final_answer == "done"
    assert trial.calls[0].ended is not None


async def test_a_trial_that_does_not_end_is_a_failed_check(harness):
    class Idle(ReferenceAgent):
        async def answer(self, query):
            await asyncio.Event().wait()

    with (
        Harness(Idle) as harness,
        pytest.raises(CheckFailed, match=r"still running after 0\.2 s, 0 model requests and 0 calls"),
    ):
        await harness.run("never", timeout=0.2)


async def test_strays_are_noted_with_their_trial_or_without(harness):
    class Stray(ReferenceAgent):
        async def answer(self, query):
            base = self.endpoint.base_url
            unknown = dict.fromkeys(("category", "tool_name", "api_name", "tool_input", "strip", "toolbench_key"), "")
            async with httpx.AsyncClient() as client:
                await client.get(f"{base}/models")
                await client.post(f"{base}/../virtual", json=unknown)
                await client.get(f"{base.split('/t/')[0]}/elsewhere")
            return await super().answer(query)

    with Harness(Stray) as harness:
        record = await harness.run("done")
        assert record.strays[0] == "GET /v1/models"
        assert "a tool that is not offered" in record.strays[1]
        assert harness.strays == ("GET /elsewhere",)


@pytest.mark.parametrize(("chunks", "calls"), [("tokens", [1, 1, 1, 1, 1, 1]), ("calls", [1, 1, 1, 1]), ("whole", [2])])
async def test_a_stream_is_answered_as_one_in_the_chunks_of_the_trial(harness, chunks, calls):
    made = [call("Echo_text", {"text": "x" * 5}), call("Echo_text", "{}")]
    trial = harness.prepare(ask(*made), chunks=chunks)
    said = [{"role": "user", "content": "Go on."}]
    model = trial.spec.endpoint.model
    body = {"model": model, "messages": said, "stream": True, "stream_options": {"include_usage": True}}
    async with httpx.AsyncClient(trust_env=False) as client:
        reply = await client.post(f"{trial.spec.endpoint.base_url}/chat/completions", json=body)
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    *events, end = [line.removeprefix("data: ") for line in reply.text.split("\n\n") if line]
    assert end == "[DONE]"
    *said, ended, usage = [json.loads(event) for event in events]
    deltas = [chunk["choices"][0]["delta"].get("tool_calls") for chunk in said]
    assert [len(delta) for delta in deltas if delta] == calls
    assert ended["choices"][0]["finish_reason"] == "tool_calls"
    assert usage["usage"]["total_tokens"] == 14


async def test_a_renamed_tool_is_called_by_the_name_under_which_it_is_offered():
    class Renames(ReferenceAgent):
        def bind_tools(self, tools, *, server_url):
            super().bind_tools(tools, server_url=server_url)
            self._tools = {f"mcp__{tool.name.lower()}": tool for tool in tools}
            for definition in self._definitions:
                definition["function"]["name"] = f"mcp__{definition['function']['name'].lower()}"

    with Harness(Renames) as harness:
        record = await harness.run(call("Echo_text", {"text": "x"}), "done")
    assert [made.tool for made in record.calls] == ["Echo_text"]
    first, second = record.requests
    assert first.offered_name("Echo_text") == second.tool_calls[0][1] == "mcp__echo_text"
    assert first.parameters("Echo_text")["required"] == ["text"]


async def test_requests_past_the_step_limit_are_refused_as_the_gateway_refuses_them():
    class Endless(ReferenceAgent):
        def __init__(self, endpoint, limits, *, system_prompt):
            super().__init__(endpoint, limits.model_copy(update={"max_steps": 50}), system_prompt=system_prompt)

    with Harness(Endless) as harness:
        record = await harness.run(forever(ask(call("Echo_text", {"text": "x"}))), max_steps=2)
    assert [request.refused for request in record.requests] == [False, False, True]
    assert "403" in record.failure.message
    assert "its setting max_steps allows" in record.failure.message


OTHERS: list[type[BaseAgent]] = [MessagesReferenceAgent, ResponsesReferenceAgent]
ECHO = call("Echo_text", {"text": "hi"})


@pytest.mark.parametrize("agent", OTHERS)
async def test_a_trial_is_played_and_seen_in_its_dialect(agent: type[BaseAgent]) -> None:
    with Harness(agent) as harness:
        record = await harness.run(ask(ECHO, text="Let me see."), "done", max_tokens=50)
        assert harness.dialects == (agent.dialect,)
    assert record.answer is not None
    assert (record.answer.final_answer, record.answer.usage is not None, record.strays) == ("done", True, ())
    first, second = record.requests
    assert first.parameters("Echo_text") == tool().spec.parameters
    assert second.roles == ["system", "user", "assistant", "tool"]
    assert second.results == [("call_0_0", '{"text": "hi"}')]
    assert second.said_by("assistant") == ["Let me see."]


@pytest.mark.parametrize("agent", OTHERS)
async def test_what_is_no_answer_and_what_is_refused_has_the_form_of_the_dialect(agent: type[BaseAgent]) -> None:
    with Harness(agent) as harness:
        broken = await harness.run(FAULTY_ANSWERS["an answer without choices"])
        refused = await harness.run(lambda request: fail(429, spoken=request.spoken))
    assert broken.failure is not None
    assert refused.failure is not None
    assert (broken.failure.kind, refused.failure.kind) == ("model", "model")
    assert "the model refuses with 429" in refused.failure.message


class EndsByTool(ReferenceAgent):
    """Takes the call of a tool of its own, which has no usual name, for the answer."""

    finish_tool = "Submit_it"

    def _request(self, messages: Any) -> dict[str, Any]:
        properties = {"note": {"type": "string"}, "colour": {"enum": ["red"]}}
        schema = {"type": "object", "properties": properties, "required": ["note", "colour"]}
        function = {"name": self.finish_tool, "description": "Submits.", "parameters": schema}
        request = super()._request(messages)
        return {**request, "tools": [*request["tools"], {"type": "function", "function": function}]}

    def _message(self, response: Any) -> dict[str, Any]:
        said = super()._message(response)
        made = next((one for one in said.get("tool_calls", []) if one["function"]["name"] == self.finish_tool), None)
        return said if made is None else {"content": json.loads(made["function"]["arguments"])["note"]}


async def test_a_declared_finish_tool_is_called_to_end() -> None:
    with Harness(EndsByTool) as harness:
        record = await harness.run(ECHO, "done")
    assert record.answer is not None
    assert (record.answer.final_answer, len(record.requests), len(record.calls)) == ("done", 2, 1)
