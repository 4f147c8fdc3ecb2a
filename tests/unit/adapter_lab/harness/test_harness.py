"""The harness, as authors use it in tests of their own."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from urllib.parse import urlsplit

import httpx
import pytest

from trialbed import ApiRef, Usage
from trialbed.wire.dialects.chat_completions import write_document
from trialbed_adapter_lab import Barrier, CheckFailed, Harness, Latch, breaks, errs, returns, tool, wait_until
from trialbed_plugins.frameworks.reference import ReferenceAgent
from trialbed_scripted import Response, ask, call, fail, forever, say


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


async def test_ids_are_made_up_per_request_and_place_unless_given(harness):
    turn = ask(call("Echo_text"), call("Echo_text", None, "mine"))
    record = await harness.run(turn, turn, "done")
    assert [made for made, _ in record.requests[-1].results] == ["call_0_0", "mine", "call_1_0", "mine"]


async def test_the_script_says_so_when_it_has_ended(harness):
    record = await harness.run(call("Echo_text"))
    assert record.answer.final_answer == "The script has ended."


async def test_a_line_can_go_on_for_ever_or_be_made_up(harness):
    async def count(request):
        return say(f"request {request.number}")

    record = await harness.run(call("Echo_text"), count)
    assert record.answer.final_answer == "request 1"
    record = await harness.run(forever(ask(call("Echo_text"))), max_steps=3)
    assert len(record.requests) == 3


async def test_apis_answer_err_and_break(harness):
    tools = [
        tool("a", returns("text")),
        tool("b", returns({"x": [1]})),
        tool("c", errs("no")),
        tool("d", breaks(503)),
    ]
    record = await harness.run(ask(*(call(item.name) for item in tools)), "done", tools=tools)
    assert [text for _, text in record.requests[1].results] == [
        "text",
        '{"x": [1]}',
        "Error: no",
        "Error: the server returned status 503: the harness's Api is broken",
    ]


async def test_the_model_refuses_or_talks_nonsense(harness):
    assert (await harness.run(fail(429))).failure.kind == "model"
    assert (await harness.run(Response.text("<html>", "text/html"))).failure.kind == "model"


async def test_messages_carry_what_the_script_gives_them(harness):
    message = say(
        "x", usage=Usage(prompt_tokens=5, completion_tokens=1), finish_reason="length", fields={"refusal": None}
    )
    document = write_document(message.answer(id="3", model="m"))
    assert document["usage"] == {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}
    assert document["choices"][0]["finish_reason"] == "length"
    assert document["choices"][0]["message"] == {"role": "assistant", "content": "x", "refusal": None}
    assert "usage" not in write_document(say("x", usage=None).answer(id="3", model="m"))


async def test_a_script_that_breaks_connections_fails_the_trial(harness):
    record = await harness.run(Response.raw(b"HTTP/1.1 200 OK\r\n"))
    assert "to break connections, use serve()" in record.failure.message


async def test_a_call_can_be_held_and_looked_at(harness):
    latch = Latch()
    trial = harness.prepare(call("Echo_text", {"text": "x"}), "done", tools=[tool(behave=latch.tool())])
    running = asyncio.create_task(trial.run())
    assert await latch.reached.wait(60)
    assert [made.ended for made in trial.calls] == [None]
    latch.open()
    assert (await running).answer.final_answer == "done"
    assert trial.calls[0].ended is not None


async def test_a_meeting_in_vain_is_over_for_all(harness):
    barrier = Barrier(3, timeout=0.05)
    await asyncio.gather(barrier.wait(), barrier.wait())
    assert not barrier.all_arrived
    await barrier.wait()
    assert not barrier.all_arrived


async def test_trials_at_once_are_told_apart(harness):
    records = await asyncio.gather(*(harness.run(f"answer {number}", query=f"query {number}") for number in range(5)))
    assert [record.answer.final_answer for record in records] == [f"answer {number}" for number in range(5)]
    assert [record.requests[0].said_by("user") for record in records] == [[f"query {number}"] for number in range(5)]


async def test_a_trial_that_does_not_end_is_a_failed_check(harness):
    class Idle(ReferenceAgent):
        async def answer(self, query):
            await asyncio.Event().wait()

    with (
        Harness(Idle) as harness,
        pytest.raises(CheckFailed, match=r"still running after 0\.2 s, 0 model requests and 0 calls"),
    ):
        await harness.run("never", timeout=0.2)


async def test_the_first_trial_may_take_longer_since_frameworks_import_in_it(monkeypatch):
    class Idle(ReferenceAgent):
        async def answer(self, query):
            await asyncio.Event().wait()

    monkeypatch.setattr("trialbed_adapter_lab.harness._harness.TIMEOUT", 0.1)
    monkeypatch.setattr("trialbed_adapter_lab.harness._harness.START", 0.2)
    with Harness(Idle) as harness:
        for seconds in (0.3, 0.1):
            with pytest.raises(CheckFailed, match=rf"still running after {seconds:g} s"):
                await harness.run("never")


async def test_a_blocking_trial_that_does_not_end_is_a_failed_check_too():
    over = threading.Event()

    class Idle(ReferenceAgent):
        def answer(self, query):
            over.wait(60)

    with Harness(Idle) as harness:
        assert not harness.is_async
        try:
            with pytest.raises(CheckFailed, match="still running"):
                await harness.run("never", timeout=0.2)
        finally:
            over.set()


async def test_a_timeout_of_the_agents_own_is_its_failure():
    class Hasty(ReferenceAgent):
        async def answer(self, query):
            raise TimeoutError("too slow")

    with Harness(Hasty) as harness:
        assert "too slow" in (await harness.run("never")).failure.message


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


async def test_an_agent_that_blocks_the_loop_still_gets_its_answers():
    class Blocking(ReferenceAgent):
        async def answer(self, query):
            with httpx.Client(trust_env=False) as client:
                body = self._request([{"role": "user", "content": query}])
                url = f"{self.endpoint.base_url}/chat/completions"
                reply = client.post(url, json=body)  # noqa: ASYNC212 - what it is about
            return self._finish(self._message(reply.content)["content"], 1)

    with Harness(Blocking) as harness:
        assert (await harness.run("served")).answer.final_answer == "served"


async def test_a_request_whose_client_hangs_up_during_the_answer_is_over():
    class HangsUp(ReferenceAgent):
        async def answer(self, query):
            body = json.dumps(self._request([{"role": "user", "content": query}])).encode()
            address = urlsplit(self.endpoint.base_url)
            head = f"POST {address.path}/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n"
            _, writer = await asyncio.open_connection(address.hostname, address.port)
            writer.write(head.encode() + body)
            await writer.drain()
            await begun.wait()
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return self._finish("", 1)

    with Harness(HangsUp) as harness:
        begun, begin = asyncio.Event(), asyncio.get_running_loop().call_soon_threadsafe

        def reply(request):
            begin(begun.set)
            return say("x" * 50_000_000)

        trial = harness.prepare(reply)
        await trial.run()
        assert await wait_until(lambda: trial.requests[0].is_over, 30.0)


def test_tools_stand_for_apis():
    assert tool("Weather_now").spec.api == ApiRef(category="Harness", tool_name="Weather_now", api_name="call")
    api = ApiRef(category="a", tool_name="b", api_name="c")
    assert tool(api=api).spec.api == api


def test_nothing_is_left_when_it_is_closed():
    before = threading.active_count()
    with Harness(ReferenceAgent):
        assert threading.active_count() > before
    assert threading.active_count() == before


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


@pytest.mark.parametrize(
    ("given", "arguments"),
    [({"text": "x"}, {"text": "x"}), ('{"text": "x"}', {"text": "x"}), ("", {}), ("{}", {})],
)
async def test_the_input_of_a_call_may_be_its_json_text(given, arguments):
    record, answer = await called_with(given)
    assert [made.arguments for made in record.calls] == [arguments]
    assert answer == {"error": "", "response": arguments}
    assert record.strays == ()


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("{", "Tool input parse error...\n"),
        ("[" * 9000, "Tool input parse error...\n"),
        ("[1]", "Harness/Echo_text/call: tool_input must be a JSON object, this is a list"),
        ("null", "Harness/Echo_text/call: tool_input must be a JSON object, this is null"),
        ('"x"', "Harness/Echo_text/call: tool_input must be a JSON object, this is a text"),
    ],
)
async def test_an_input_that_is_no_object_is_an_error_of_the_api(given, error):
    record, answer = await called_with(given)
    assert answer == {"error": error, "response": ""}
    assert record.calls == ()
    assert [stray[:23] for stray in record.strays] == ["a call of Echo_text wit"]


async def called_with(tool_input):
    """A trial whose agent makes one call with this input by itself, and what it was answered."""
    answers = []

    class ByItself(ReferenceAgent):
        def bind_tools(self, tools, *, server_url):
            super().bind_tools(tools, server_url=server_url)
            self.names, self.url = tools[0].api.model_dump(), server_url

        async def answer(self, query):
            async with httpx.AsyncClient() as client:
                body = {**self.names, "tool_input": tool_input, "strip": "", "toolbench_key": ""}
                answers.append((await client.post(self.url, json=body)).json())
            return await super().answer(query)

    with Harness(ByItself) as harness:
        record = await harness.run("done")
    return record, *answers
