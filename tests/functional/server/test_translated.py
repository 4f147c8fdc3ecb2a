"""Agents of other dialects at an endpoint that speaks chat completions only."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI, BadRequestError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from support.servers import SCHEMA, TOOL, TRIAL, Serve, closed, listening, registration

from trialbed.records import WireLog
from trialbed.wire.dialects import dialect
from trialbed_scripted import ReceivedRequest, call, policy

RESULT = '{"temperature": 48213}'


class ChatOnly:
    """An endpoint of a model that calls the tool; knows no other path."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.status = 200
        self.identity = "1"
        self.counts = True
        self.app = Starlette(routes=[Route("/v1/{path:path}", self.serve, methods=["GET", "POST", "DELETE"])])
        self._model = policy("gold", call(TOOL["name"], city="Oslo"))

    async def serve(self, request: Request) -> Response:
        self.paths.append(request.path_params["path"])
        if request.path_params["path"] != "chat/completions":
            return JSONResponse({"detail": "Not Found"}, 404)
        if self.status != 200:
            return JSONResponse({"error": {"message": "too much", "type": "rate_limit_error"}}, self.status)
        document = await request.json()
        self.asked.append(document)
        turn = self._model(ReceivedRequest(len(self.asked), document))
        turn = turn if self.counts else replace(turn, usage=None)
        answer = turn.answer(model=document["model"], id=self.identity)
        (body,) = dialect().write_answer(answer, dialect().read_request(document))
        return Response(body, media_type="application/json")


@pytest.fixture
async def endpoint() -> AsyncIterator[ChatOnly]:
    found = ChatOnly()
    async with listening(found.app, lifespan="off") as url:
        found.url = f"{url}/v1"
        yield found


async def opened(serve: Serve, endpoint: ChatOnly) -> httpx.AsyncClient:
    client = await serve(upstream=endpoint.url, upstream_key="key-of-the-endpoint")
    await client.post("/control/trials", json=registration(model="real", model_name="told"))
    return client


async def test_messages_are_translated_and_marked(serve: Serve, endpoint: ChatOnly) -> None:
    # To import it takes seconds: only who runs this test does.
    from anthropic import AsyncAnthropic

    client = await opened(serve, endpoint)
    tools: Any = [{"name": TOOL["name"], "description": "d", "input_schema": SCHEMA}]
    async with AsyncAnthropic(base_url=f"{client.base_url}/t/{TRIAL}", api_key="x", max_retries=0) as anthropic:
        given: dict[str, Any] = {"model": "told", "max_tokens": 99, "tools": tools, "system": "Be brief."}
        given |= {"stop_sequences": ["END"], "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}
        messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "Oslo?", "cache_control": None}]}]
        for _ in range(2):
            async with anthropic.messages.stream(messages=messages, **given) as events:
                said = await events.get_final_message()
            uses = [block for block in said.content if block.type == "tool_use"]
            results = [{"type": "tool_result", "tool_use_id": use.id, "content": RESULT} for use in uses]
            messages += [{"role": "assistant", "content": said.content}, {"role": "user", "content": results}]
        counted = await anthropic.messages.count_tokens(model="told", messages=messages[:1])
    assert "48213" in said.content[0].text  # type: ignore[union-attr]
    assert counted.input_tokens > 0
    # Once it is known, the endpoint is not asked in vain.
    assert endpoint.paths == ["messages", "chat/completions", "chat/completions"]
    first, second = endpoint.asked
    assert (first["model"], first["max_tokens"], first["stop"], first["parallel_tool_calls"]) == (
        "real",
        99,
        ["END"],
        False,
    )
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "tool"]
    calls = WireLog.model_validate(await closed(client)).model_calls
    assert [(call.status, call.dialect, call.translated) for call in calls] == [
        (200, "messages", "chat_completions")
    ] * 2
    assert [call.finish_reason for call in calls] == ["tool_calls", "stop"]
    assert all(call.usage for call in calls)


async def test_messages_have_tokens_where_the_endpoint_reports_none(serve: Serve, endpoint: ChatOnly) -> None:
    from anthropic import AsyncAnthropic

    client = await opened(serve, endpoint)
    endpoint.counts = False
    given: dict[str, Any] = {"model": "told", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    async with AsyncAnthropic(base_url=f"{client.base_url}/t/{TRIAL}", api_key="x", max_retries=0) as anthropic:
        async with anthropic.messages.stream(**given) as events:
            streamed = await events.get_final_message()
        whole = await anthropic.messages.create(**given)
    assert [(said.usage.input_tokens, said.usage.output_tokens) for said in (streamed, whole)] == [(0, 0)] * 2
    # The log does not take them for the endpoint's.
    calls = WireLog.model_validate(await closed(client)).model_calls
    assert [call.usage for call in calls] == [None, None]


@pytest.mark.parametrize("identity", ["", "the-same"])
async def test_responses_are_translated_with_their_earlier_conversation(
    serve: Serve, endpoint: ChatOnly, identity: str
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
        assert (await openai.responses.retrieve(first.id)).id == first.id != second.id
        await openai.responses.create(model="told", input="And?", tools=tools, previous_response_id=second.id)
        with pytest.raises(BadRequestError, match="max_tool_calls"):
            await openai.responses.create(model="told", input="Oslo?", max_tool_calls=3)
        with pytest.raises(BadRequestError, match="not found"):
            await openai.responses.create(model="told", input="Oslo?", previous_response_id="resp_other")
    assert [message["role"] for message in endpoint.asked[1]["messages"]] == ["user", "assistant", "tool"]
    calls = WireLog.model_validate(await closed(client)).model_calls
    assert [(call.status, call.translated) for call in calls[:3]] == [(200, "chat_completions")] * 3
    assert [(call.status, call.cause) for call in calls[3:]] == [(400, "request")] * 2


async def test_errors_of_the_endpoint_have_the_form_of_the_request(serve: Serve, endpoint: ChatOnly) -> None:
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


async def test_what_an_endpoint_lacks_beside_its_models_says_nothing_of_them(serve: Serve, endpoint: ChatOnly) -> None:
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
