"""Agents of each dialect at an endpoint that speaks another one only."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import permutations
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI, BadRequestError
from starlette.requests import Request
from starlette.responses import Response
from support.one_dialect import OneDialect
from support.servers import SCHEMA, TOOL, TRIAL, Serve, closed, listening, registration

from trialbed.records import WireLog
from trialbed.wire import ChatClient, ModelMessage, OfferedTool, Reading
from trialbed.wire.dialects import CHAT, PATHS, dialect
from trialbed_scripted import Response as ScriptedResponse
from trialbed_scripted import call, say
from trialbed_scripted.faults import Fault

RESULT = '{"temperature": 48213}'
PAIRS = [pytest.param(*pair, id="-at-".join(pair)) for pair in permutations(sorted({*PATHS.values()}), 2)]
OFFERED = OfferedTool(TOOL["name"], "d", SCHEMA)


@pytest.fixture
async def endpoint(request: pytest.FixtureRequest) -> AsyncIterator[OneDialect]:
    found = OneDialect(getattr(request, "param", CHAT))
    async with listening(found.app, lifespan="off") as url:
        found.url = f"{url}/v1"
        yield found


async def opened(serve: Serve, endpoint: OneDialect) -> httpx.AsyncClient:
    client = await serve(upstream=endpoint.url, upstream_key="key-of-the-endpoint")
    await client.post("/control/trials", json=registration(model="real", model_name="told"))
    return client


def speaking(client: httpx.AsyncClient, own: str, trial: str = TRIAL) -> ChatClient:
    return ChatClient(f"{client.base_url}/t/{trial}/v1", spoken=own, attempts=1)


async def ask(
    client: httpx.AsyncClient, own: str, messages: list[ModelMessage], trial: str = TRIAL, **settings: Any
) -> Reading:
    more = {"stream_options": {"include_usage": True}} if own == CHAT and settings.get("stream") else {}
    written = dialect(own).write_request("told", messages, {"max_tokens": 99, **settings, **more}, [OFFERED])
    async with speaking(client, own, trial) as agent:
        return await agent.complete(written)


USER = ModelMessage(role="user", content="Oslo?")


@pytest.mark.parametrize(("own", "endpoint"), PAIRS, indirect=["endpoint"])
async def test_every_dialect_is_translated_into_every_other(serve: Serve, own: str, endpoint: OneDialect) -> None:
    client = await opened(serve, endpoint)
    seen = []
    for stream in (False, True):
        first = await ask(client, own, [USER], stream=stream)
        (made,) = first.answer.calls
        said = ModelMessage(role="assistant", calls=(made,))
        result = ModelMessage(role="tool", content=RESULT, call_id=made.id, is_error=False)
        second = await ask(client, own, [USER, said, result], stream=stream)
        seen.append((first.finish_reason, made.name, made.arguments, second.finish_reason, second.answer.text))
        assert "48213" in second.answer.text
        assert first.answer.model == "told"
    assert seen[0] == seen[1]
    assert seen[0][:4] == ("tool_calls", TOOL["name"], '{"city": "Oslo"}', "stop")
    assert [asked.get("stream", False) for asked in endpoint.asked] == [False, False, True, True]
    # Once it is known which one the endpoint speaks, it is not asked in vain.
    assert len(endpoint.paths) - len(endpoint.asked) <= 3
    assert endpoint.paths[-3:] == [endpoint.spoken.PATH] * 3
    calls = WireLog.model_validate(await closed(client)).model_calls
    assert [(call.status, call.translated) for call in calls] == [(200, endpoint.spoken.NAME)] * 4
    assert all(call.usage and call.usage.prompt_tokens for call in calls)


@pytest.mark.parametrize(("own", "endpoint"), PAIRS, indirect=["endpoint"])
async def test_a_translated_stream_comes_as_it_is_made(serve: Serve, own: str, endpoint: OneDialect) -> None:
    client = await opened(serve, endpoint)
    endpoint.model = lambda _: say("It is as warm as one could wish today.", reasoning="They ask for Oslo.")
    endpoint.gate.clear()
    written = dialect(own).write_request("told", [USER], {"max_tokens": 99, "stream": True}, [OFFERED])
    reader = dialect(own).open_stream(())
    reader.pieces = []
    async with client.stream("POST", f"/t/{TRIAL}/v1/{dialect(own).PATH}", json=written) as answer:
        async for chunk in answer.aiter_bytes():
            reader.feed(chunk)
            if "text" in {kind for kind, _ in reader.pieces}:
                # The rest has not been sent yet.
                endpoint.gate.set()
    reading = reader.end()
    assert (reading.problem, reading.finish_reason, reading.answer.id != "1") == (None, "stop", True)
    assert (reading.answer.text, reading.answer.reasoning) == (
        "It is as warm as one could wish today.",
        "They ask for Oslo.",
    )


@pytest.mark.parametrize(("own", "endpoint"), PAIRS, indirect=["endpoint"])
async def test_a_stream_that_breaks_ends_with_an_error_in_the_dialects_form(
    serve: Serve, own: str, endpoint: OneDialect
) -> None:
    client = await opened(serve, endpoint)
    endpoint.model = lambda _: say("It is as warm as one could wish today.")
    spoken, goal = dialect(own), endpoint.spoken
    asked = goal.read_request({"stream": True, "messages": [], "input": []})
    whole = say("It is as warm as one could wish today.").answer(id="1", model="m")
    endpoint.events = list(Fault("error_event").edit(ScriptedResponse.answer(whole, asked, goal), goal.NAME).parts)
    broken = await ask(client, own, [USER], stream=True)
    assert broken.problem is not None
    assert broken.problem.kind == "error_event"
    assert "cannot be translated" in broken.problem.message
    assert broken.answer.text.startswith("It is")
    endpoint.events = [b": nothing but a comment\n\n"]
    written = spoken.write_request("told", [USER], {"max_tokens": 99, "stream": True}, [OFFERED])
    nothing = await client.post(f"/t/{TRIAL}/v1/{spoken.PATH}", json=written)
    assert nothing.status_code == 502
    assert "cannot be translated" in spoken.read_error(nothing.text)
    calls = WireLog.model_validate(await closed(client)).model_calls
    assert [(call.status, call.cause) for call in calls] == [(200, "endpoint"), (502, "endpoint")]


@pytest.mark.parametrize("stream", [False, True])
async def test_calls_of_a_careless_endpoint_end_as_calls_do(serve: Serve, endpoint: OneDialect, stream: bool) -> None:
    client = await opened(serve, endpoint)
    endpoint.model = lambda _: replace(say(None), calls=(call(TOOL["name"], city="Oslo"),), finish_reason="stop")
    reading = await ask(client, "messages", [USER], stream=stream)
    assert reading.answer.calls
    assert reading.finish_reason == "tool_calls"


@pytest.mark.parametrize("endpoint", sorted({*PATHS.values()} - {"responses"}), indirect=True)
async def test_an_endpoint_that_does_not_stream_is_streamed_from_all_the_same(
    serve: Serve, endpoint: OneDialect
) -> None:
    client = await opened(serve, endpoint)
    endpoint.streams = False
    reading = await ask(client, "responses", [USER], stream=True)
    assert (reading.problem, reading.answer.calls[0].name) == (None, TOOL["name"])


async def test_a_model_that_is_missing_is_not_sought_in_another_dialect(serve: Serve, endpoint: OneDialect) -> None:
    client = await opened(serve, endpoint)
    endpoint.spoken = dialect("messages")
    endpoint.refusal = (404, {"error": {"message": "The model `real` does not exist", "code": "model_not_found"}})
    missing = await client.post(f"/t/{TRIAL}/v1/responses", json={"model": "told", "input": "?"})
    assert (missing.status_code, missing.json()) == endpoint.refusal
    assert {*endpoint.paths} == {"responses"}


@pytest.mark.parametrize("more", [{}, {"logprobs": True, "stop": "END"}], ids=["plain", "of-chat-alone"])
async def test_an_endpoint_that_speaks_nothing_is_told_of_by_its_own_refusal(
    serve: Serve, endpoint: OneDialect, more: dict[str, Any]
) -> None:
    """Also where no other dialect can express the request: a wrong address is not its fault."""
    client = await opened(serve, endpoint)
    endpoint.spoken = type("Nothing", (), {"PATH": "nothing", "NAME": "nothing"})()
    for _ in range(2):
        answer = await client.post(f"/t/{TRIAL}/v1/chat/completions", json={"model": "told", "messages": [], **more})
        assert (answer.status_code, answer.json()) == (404, {"detail": "Not Found"})
    # Once plain requests have shown that it speaks no other dialect, it is not asked for them in vain.
    assert endpoint.paths.count("responses") == endpoint.paths.count("messages") == 1
    calls = WireLog.model_validate(await closed(client)).model_calls
    assert [(call.translated, call.cause) for call in calls] == [("", "endpoint")] * 2


@pytest.mark.parametrize("endpoint", ["messages"], indirect=True)
async def test_what_the_endpoints_dialect_lacks_is_named_also_in_the_first_request(
    serve: Serve, endpoint: OneDialect
) -> None:
    client = await opened(serve, endpoint)
    for _ in range(2):
        refused = await ask(client, CHAT, [USER], logprobs=True, top_logprobs=2)
        assert refused.problem is not None
        assert "Messages have no counterpart of 'top_logprobs'" in refused.problem.message
    # A plain request has shown that it speaks that, once.
    assert [asked["model"] for asked in endpoint.asked] == ["real"]
    calls = WireLog.model_validate(await closed(client)).model_calls
    assert [(call.status, call.cause) for call in calls] == [(400, "request")] * 2


class TwoModels(OneDialect):
    """An endpoint with two models, each of which speaks another dialect."""

    async def serve(self, request: Request) -> Response:
        self.spoken = dialect({"first": CHAT, "second": "responses"}[(await request.json())["model"]])
        return await super().serve(request)


@pytest.mark.parametrize("own", [CHAT, "responses"])
@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
async def test_models_at_one_endpoint_may_speak_different_dialects(
    serve: Serve, own: str, order: tuple[str, ...]
) -> None:
    endpoint = TwoModels(CHAT)
    async with listening(endpoint.app, lifespan="off") as url:
        endpoint.url = f"{url}/v1"
        client = await serve(upstream=endpoint.url)
        for model in order:
            trial = f"trial-of-{model}"
            await client.post("/control/trials", json=registration(trial=trial, model=model, model_name="told"))
            for _ in range(2):
                assert (await ask(client, own, [USER], trial)).problem is None
            calls = WireLog.model_validate(await closed(client, trial)).model_calls
            spoken = CHAT if model == "first" else "responses"
            assert [call.translated for call in calls] == ["" if spoken == own else spoken] * 2


@pytest.mark.parametrize("identity", ["", "the-same"])
async def test_responses_are_translated_with_their_earlier_conversation(
    serve: Serve, endpoint: OneDialect, identity: str
) -> None:
    client = await opened(serve, endpoint)
    endpoint.identity = identity
    tools: Any = [{"type": "function", "name": TOOL["name"], "parameters": SCHEMA, "strict": False}]
    async with AsyncOpenAI(base_url=f"{client.base_url}/t/{TRIAL}/v1", api_key="x", max_retries=0) as openai:
        async with openai.responses.stream(model="told", input="Oslo?", tools=tools) as events:
            first = await events.get_final_response()
        made: Any = first.output[0]
        output: Any = {"type": "function_call_output", "call_id": made.call_id, "output": RESULT}
        second = await openai.responses.create(model="told", input=[output], tools=tools, previous_response_id=first.id)
        assert "48213" in second.output_text
        assert first.id != second.id
        await openai.responses.create(model="told", input="And?", tools=tools, previous_response_id=second.id)
        with pytest.raises(BadRequestError, match="max_tool_calls"):
            await openai.responses.create(model="told", input="Oslo?", max_tool_calls=3)
        with pytest.raises(BadRequestError, match="not found"):
            await openai.responses.create(model="told", input="Oslo?", previous_response_id="resp_other")
    assert [message["role"] for message in endpoint.asked[1]["messages"]] == ["user", "assistant", "tool"]
    calls = WireLog.model_validate(await closed(client)).model_calls
    assert [(call.status, call.translated) for call in calls[:3]] == [(200, "chat_completions")] * 3
    assert [(call.status, call.cause) for call in calls[3:]] == [(400, "request")] * 2


async def test_errors_of_the_endpoint_have_the_form_of_the_request(serve: Serve, endpoint: OneDialect) -> None:
    client = await serve(upstream=endpoint.url, model_retries=0, endpoint_patience=0)
    await client.post("/control/trials", json=registration(model="real"))
    endpoint.status = 413
    asked = {"model": "real", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    refused = await client.post(f"/t/{TRIAL}/v1/messages", json=asked)
    assert refused.status_code == 413
    assert refused.json()["error"] == {"type": "request_too_large", "message": "too much"}
    (call,) = WireLog.model_validate(await closed(client)).model_calls
    assert (call.status, call.cause) == (413, "request")
    assert json.loads(call.response)["type"] == "error"


async def test_what_an_endpoint_lacks_beside_its_models_says_nothing_of_them(
    serve: Serve, endpoint: OneDialect
) -> None:
    client = await opened(serve, endpoint)
    for number in range(6):
        messages = [{"role": "user", "content": f"hi {number}"}]
        counted = await client.post(
            f"/t/{TRIAL}/v1/messages/count_tokens", json={"model": "told", "messages": messages}
        )
        assert (counted.status_code, counted.json()["input_tokens"] > 0) == (200, True)
        vectors = await client.post(f"/t/{TRIAL}/v1/embeddings", json={"model": "told", "input": f"hi {number}"})
        assert vectors.status_code == 404
        assert (await client.get("/control/endpoint")).json()["state"] == "closed"
    assert {*endpoint.paths} == {"messages/count_tokens", "embeddings"}
    asked = {"model": "told", "messages": messages}
    assert (await client.post(f"/t/{TRIAL}/v1/chat/completions", json=asked)).status_code == 200
