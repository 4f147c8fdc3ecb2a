"""The stage, as authors use it in tests of their own."""

from __future__ import annotations

import asyncio
import json
import threading

import httpx
import pytest

from trialbed import ApiRef, Usage
from trialbed_adapter_kit import (
    CheckFailed,
    Held,
    Meeting,
    Raw,
    Said,
    Stage,
    asks,
    breaks,
    call,
    errs,
    fails,
    forever,
    returns,
    says,
    tool,
)
from trialbed_plugins.frameworks.reference import ReferenceAgent


@pytest.fixture
def stage():
    with Stage(ReferenceAgent) as stage:
        yield stage


async def test_a_trial_is_played_and_seen_from_both_ends(stage):
    play = await stage.play(asks(call("Echo_text", {"text": "hi"})), "done", query="Say hi", seed=7, max_tokens=50)
    assert (play.answer.final_answer, play.failure) == ("done", None)
    assert [(made.tool, made.arguments) for made in play.calls] == [("Echo_text", {"text": "hi"})]
    first, second = play.requests
    assert first.said_by("user") == ["Say hi"]
    assert (first.body["seed"], first.body["max_tokens"]) == (7, 50)
    assert first.parameters("Echo_text") == tool().spec.parameters
    assert second.results == [("call_0_0", '{"text": "hi"}')]
    assert first.started < first.ended <= play.calls[0].started < play.calls[0].ended <= second.started
    assert play.strays == ()
    assert play.connections == 1


async def test_ids_are_made_up_per_request_and_place_unless_given(stage):
    turn = asks(call("Echo_text"), call("Echo_text", id="mine"))
    play = await stage.play(turn, turn, "done")
    assert [made for made, _ in play.requests[-1].results] == ["call_0_0", "mine", "call_1_0", "mine"]


async def test_the_script_says_so_when_it_has_ended(stage):
    play = await stage.play(asks(call("Echo_text")))
    assert play.answer.final_answer == "The script has ended."


async def test_a_line_can_go_on_for_ever_or_be_made_up(stage):
    async def count(request):
        return says(f"request {request.number}")

    play = await stage.play(asks(call("Echo_text")), count)
    assert play.answer.final_answer == "request 1"
    play = await stage.play(forever(asks(call("Echo_text"))), max_steps=3)
    assert len(play.requests) == 3


async def test_a_loop_without_end_is_ended_by_the_model(stage):
    class Endless(ReferenceAgent):
        async def answer(self, query):
            while True:
                await self._ask([{"role": "user", "content": query}])

    with Stage(Endless) as stage:
        play = await stage.play(forever(asks(call("Echo_text"))), max_steps=2)
    assert play.failure.kind == "model"
    assert len(play.requests) < 50


async def test_apis_answer_err_and_break(stage):
    tools = [
        tool("a", returns("text")),
        tool("b", returns({"x": [1]})),
        tool("c", errs("no")),
        tool("d", breaks(503)),
    ]
    play = await stage.play(asks(*(call(item.name) for item in tools)), "done", tools=tools)
    assert [text for _, text in play.requests[1].results] == [
        "text",
        '{"x": [1]}',
        "Error: no",
        "Error: the server returned status 503: the stage's Api is broken",
    ]


async def test_the_model_refuses_or_talks_nonsense(stage):
    assert (await stage.play(fails(429))).failure.kind == "model"
    assert (await stage.play(Raw(200, "<html>", "text/html"))).failure.kind == "model"


async def test_messages_carry_what_the_script_gives_them(stage):
    message = Said("x", usage=Usage(prompt_tokens=5, completion_tokens=1), reason="length", extras={"refusal": None})
    document = message.completion(3, "m")
    assert document["usage"] == {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}
    assert document["choices"][0]["finish_reason"] == "length"
    assert document["choices"][0]["message"] == {"role": "assistant", "content": "x", "refusal": None}
    assert "usage" not in says("x", usage=None).completion(0, "m")


async def test_a_call_can_be_held_and_looked_at(stage):
    held = Held()
    trial = stage.prepare(asks(call("Echo_text", {"text": "x"})), "done", tools=[tool(behave=held.tool())])
    playing = asyncio.create_task(trial.play())
    assert await held.begun.wait(10)
    assert [made.ended for made in trial.calls] == [None]
    held.released.give()
    assert (await playing).answer.final_answer == "done"
    assert trial.calls[0].ended is not None


async def test_a_meeting_in_vain_is_over_for_all(stage):
    meeting = Meeting(3, patience=0.05)
    await asyncio.gather(meeting.come(), meeting.come())
    assert not meeting.met
    await meeting.come()
    assert not meeting.met


async def test_trials_at_once_are_told_apart(stage):
    plays = await asyncio.gather(*(stage.play(f"answer {number}", query=f"query {number}") for number in range(5)))
    assert [play.answer.final_answer for play in plays] == [f"answer {number}" for number in range(5)]
    assert [play.requests[0].said_by("user") for play in plays] == [[f"query {number}"] for number in range(5)]


async def test_a_trial_that_does_not_end_is_a_failed_check(stage):
    class Idle(ReferenceAgent):
        async def answer(self, query):
            await asyncio.Event().wait()

    with (
        Stage(Idle) as stage,
        pytest.raises(CheckFailed, match=r"still ran after 0\.2 s, 0 model requests and 0 calls"),
    ):
        await stage.play("never", patience=0.2)


async def test_a_blocking_trial_that_does_not_end_is_a_failed_check_too():
    over = threading.Event()

    class Idle(ReferenceAgent):
        def answer(self, query):
            over.wait(60)

    with Stage(Idle) as stage:
        assert not stage.is_async
        try:
            with pytest.raises(CheckFailed, match="still ran"):
                await stage.play("never", patience=0.2)
        finally:
            over.set()


async def test_a_timeout_of_the_agents_own_is_its_failure():
    class Hasty(ReferenceAgent):
        async def answer(self, query):
            raise TimeoutError("too slow")

    with Stage(Hasty) as stage:
        assert "too slow" in (await stage.play("never")).failure.message


async def test_strays_are_noted_with_their_trial_or_without(stage):
    class Stray(ReferenceAgent):
        async def answer(self, query):
            base = self.endpoint.base_url
            await self._client.get(f"{base}/models")
            await self._client.post(f"{base}/../virtual", json={"category": "x", "tool_name": "y", "api_name": "z"})
            await self._client.get(f"{base.split('/t/')[0]}/elsewhere")
            return await super().answer(query)

    with Stage(Stray) as stage:
        play = await stage.play("done")
        assert play.strays[0] == "GET /v1/models"
        assert "an Api that is not offered" in play.strays[1]
        assert stage.strays == ("GET /elsewhere",)


async def test_a_stream_is_answered_as_one(stage):
    trial = stage.prepare(asks(call("Echo_text", {"text": "x"}), text="hm"))
    body = {"model": "m", "messages": [], "stream": True, "stream_options": {"include_usage": True}}
    async with httpx.AsyncClient(trust_env=False) as client:
        reply = await client.post(f"{trial.spec.endpoint.base_url}/chat/completions", json=body)
    assert reply.headers["content-type"] == "text/event-stream"
    *events, end = [line.removeprefix("data: ") for line in reply.text.split("\n\n") if line]
    assert end == "[DONE]"
    chunks = [json.loads(event) for event in events]
    assert chunks[0]["choices"][0]["delta"]["tool_calls"][0]["function"]["name"] == "Echo_text"
    assert chunks[1]["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks[2]["usage"]["total_tokens"] == 14


async def test_an_agent_that_blocks_the_loop_still_gets_its_answers():
    class Blocking(ReferenceAgent):
        async def answer(self, query):
            with httpx.Client(trust_env=False) as client:
                body = self._request([{"role": "user", "content": query}])
                url = f"{self.endpoint.base_url}/chat/completions"
                reply = client.post(url, json=body)  # noqa: ASYNC212 - what it is about
            return self._finished(self._message(reply)["content"], 1)

    with Stage(Blocking) as stage:
        assert (await stage.play("served")).answer.final_answer == "served"


def test_tools_stand_for_apis():
    assert tool("Weather_now").spec.api == ApiRef(category="Stage", tool_name="Weather_now", api_name="call")
    api = ApiRef(category="a", tool_name="b", api_name="c")
    assert tool(api=api).spec.api == api


def test_nothing_is_left_when_it_is_closed():
    before = threading.active_count()
    with Stage(ReferenceAgent):
        assert threading.active_count() == before + 1
    assert threading.active_count() == before
