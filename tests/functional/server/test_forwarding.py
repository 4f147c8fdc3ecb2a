"""Requests that go on to an upstream model endpoint."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from support.servers import OFFERED, TRIAL, Serve, closed, listening, registration, until, virtual

from trialbed.wire import ModelAnswer, ModelMessage, usage_counts
from trialbed.wire.dialects import PATHS, dialect

KEY = "sk-the-real-upstream-key"
USAGE = {"prompt_tokens": 11, "completion_tokens": 22, "total_tokens": 33}
REPORTED = {"prompt_tokens": 11, "completion_tokens": 22, "cached_tokens": 0, "reasoning_tokens": 0}
CHAT = f"/t/{TRIAL}/v1/chat/completions"


def event(delta: dict[str, Any], **more: Any) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}], **more}).encode() + b"\n\n"


class Upstream:
    """A model endpoint that does what the request's ``model`` says, and remembers what it was sent."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes, str]] = []
        self.gate = asyncio.Event()
        self.left = asyncio.Event()
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", self.chat, methods=["POST"]),
                Route("/v1/models", self.models),
            ]
        )

    async def models(self, _request: Request) -> Response:
        return JSONResponse({"data": [{"id": "upstream-model"}]})

    async def chat(self, request: Request) -> Response:
        body = await request.body()
        self.requests.append((dict(request.headers), body, request.url.query))
        return await getattr(self, json.loads(body)["model"])(request)

    async def plain(self, _request: Request) -> Response:
        call = {"function": {"name": "Weather_Now_Current", "arguments": "{}"}}
        document = {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}], "usage": USAGE}
        text = json.dumps({**document, "vendor_field": "ü"}, ensure_ascii=False, indent=3)
        return Response(
            text, media_type="application/json", headers={"x-vendor": "kept", "connection": "x-hop", "x-hop": "1"}
        )

    async def limited(self, request: Request) -> Response:
        leak = f"key {request.headers['authorization']} has reached its limit"
        return JSONResponse({"error": {"message": leak}}, 429, headers={"retry-after": "7", "x-leak": KEY})

    async def streamed(self, _request: Request) -> Response:
        async def events() -> AsyncIterator[bytes]:
            yield event({"content": "first"})
            await self.gate.wait()
            yield event({"content": "second"}, usage=USAGE)
            yield b"data: [DONE]\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    async def leaking(self, _request: Request) -> Response:
        async def events() -> AsyncIterator[bytes]:
            yield b"data: sk-the-real-"
            await asyncio.sleep(0.05)
            yield b"upstream-key\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    async def silent(self, _request: Request) -> Response:
        await self.gate.wait()
        return Response("{}")

    async def watched(self, request: Request) -> Response:
        while not await request.is_disconnected():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)
        self.left.set()
        return Response("{}")


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    stub = Upstream()
    async with listening(stub.app) as url:
        stub.url = f"{url}/v1"  # type: ignore[attr-defined]
        yield stub
        stub.gate.set()


async def trial(serve: Serve, url: str, **options: Any) -> httpx.AsyncClient:
    client = await serve(upstream=url, upstream_key=KEY, **{"model_retries": 0, **options})
    opened = await client.post("/control/trials", json=registration(model="plain", base_url=url))
    assert opened.status_code == 201
    return client


def body(model: str, **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [], "tools": OFFERED, **more}


async def test_bodies_pass_byte_for_byte_both_ways_under_the_servers_key(serve: Serve, upstream: Any) -> None:
    client = await trial(serve, upstream.url)
    sent = b'{ "model":"plain",  "unknown_field": [1, 2.50], "tools": [] }'
    headers = {"authorization": "Bearer dummy", "openai-beta": "x", "content-type": "application/json; charset=utf-8"}
    reply = await client.post(CHAT, content=sent, headers=headers)
    ((got, received, _),) = upstream.requests
    assert received == sent
    assert got["authorization"] == f"Bearer {KEY}"
    assert (got["openai-beta"], got["content-type"]) == ("x", "application/json; charset=utf-8")
    assert got["host"] in upstream.url
    assert '\n   "vendor_field": "ü"' in reply.text
    assert reply.headers["x-vendor"] == "kept"
    assert "x-hop" not in reply.headers
    (call,) = (await closed(client))["model_calls"]
    assert call["request"].encode() == sent
    assert call["response"] == reply.text
    assert call["response_bytes"] == len(reply.content)
    assert call["usage"] == REPORTED
    assert call["finish_reason"] == "tool_calls"
    assert call["tool_calls"][0]["problem"] == "unknown tool"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", sorted({*PATHS.values()}))
async def test_what_an_endpoint_speaks_passes_untouched_in_each_dialect(serve: Serve, name: str, stream: bool) -> None:
    spoken = dialect(name)
    user = ModelMessage(role="user", content="Oslo?")
    asked = spoken.write_request("plain", [user], {"stream": stream, "max_tokens": 9})
    sent = json.dumps({**asked, "of_a_vendor": [1, 2.50]}, indent=1).encode()
    said = ModelAnswer(content="Mild.", finish_reason="stop", usage=usage_counts(3, 2), model="plain", id="a")
    whole = b"".join(spoken.write_answer(said, spoken.read_request(asked)))
    odd = json.dumps({"of_a_vendor": "ü", **({} if stream else json.loads(whole))}, ensure_ascii=False, indent=3)
    given = b": ping\n\n" + whole + b": the end\n\n" if stream else odd.encode()
    got: list[tuple[str, str | None, bytes]] = []

    async def answer(request: Request) -> Response:
        got.append((str(request.url), request.headers.get("anthropic-version"), await request.body()))
        return Response(given, media_type="text/event-stream" if stream else "application/json")

    app = Starlette(routes=[Route("/v1/{path:path}", answer, methods=["POST"])])
    async with listening(app) as url:
        client = await trial(serve, f"{url}/v1")
        path = f"/t/{TRIAL}/v1/{spoken.PATH}?beta=true"
        reply = await client.post(path, content=sent, headers={"anthropic-version": "2023-06-01"})
        assert reply.content == given
        assert got == [(f"{url}/v1/{spoken.PATH}", "2023-06-01", sent)]
        (call,) = (await closed(client))["model_calls"]
    assert (call["request"].encode(), call["response"].encode()) == (sent, given)
    assert (call["dialect"] or "chat_completions", call["translated"], call["finish_reason"]) == (name, "", "stop")


async def test_the_endpoint_gets_the_models_own_name_where_another_was_told(serve: Serve, upstream: Any) -> None:
    client = await serve(upstream=upstream.url, upstream_key=KEY, model_retries=0)
    told = registration(model="plain", model_name="gpt-4o", base_url=upstream.url, allowed_models=["limited"])
    assert (await client.post("/control/trials", json=told)).status_code == 201
    sent = b'{ "model":"gpt-4o",  "unknown_field": [1, 2.50], "tools": [] }'
    assert (await client.post(CHAT, content=sent)).status_code == 200
    assert (await client.post(CHAT, json=body("limited"))).status_code == 429
    other = json.dumps(body("limited"), separators=(",", ":")).encode()
    assert [received for _, received, _ in upstream.requests] == [sent.replace(b"gpt-4o", b"plain"), other]
    assert [model["id"] for model in (await client.get(f"/t/{TRIAL}/v1/models")).json()["data"]] == ["gpt-4o"]
    log = await closed(client)
    own, allowed = log["model_calls"]
    assert (log["model_name"], own["request"].encode(), allowed["other_model"]) == ("gpt-4o", sent, "limited")


async def test_an_error_passes_with_its_status_but_without_the_key(serve: Serve, upstream: Any) -> None:
    client = await trial(serve, upstream.url)
    reply = await client.post(CHAT, json=body("limited"))
    assert reply.status_code == 429
    assert reply.headers["retry-after"] == "7"
    assert reply.json()["error"]["message"] == f"key Bearer {'*' * len(KEY)} has reached its limit"
    log = json.dumps(await closed(client))
    assert KEY not in reply.text + str(reply.headers) + log
    assert '"status": 429' in log
    assert '"cause": "endpoint"' in log


async def test_a_stream_passes_piece_by_piece(serve: Serve, upstream: Any) -> None:
    client = await trial(serve, upstream.url)
    async with client.stream("POST", CHAT, json=body("streamed", stream=True)) as reply:
        pieces = reply.aiter_bytes()
        assert await anext(pieces) == event({"content": "first"})
        upstream.gate.set()
        rest = b"".join([piece async for piece in pieces])
    assert rest.endswith(b"data: [DONE]\n\n")
    (call,) = (await closed(client))["model_calls"]
    assert call["usage"] == REPORTED
    assert call["stream"]
    assert call["first_token"] < call["duration"]


async def test_a_key_in_two_pieces_of_a_stream_is_masked(serve: Serve, upstream: Any) -> None:
    client = await trial(serve, upstream.url)
    reply = await client.post(CHAT, json=body("leaking"))
    assert reply.text == f"data: {'*' * len(KEY)}\n\n"


def found_in(folder: Path, text: str) -> list[Path]:
    return [path for path in folder.iterdir() if text.encode() in path.read_bytes()]


async def test_a_key_that_an_agent_was_told_is_in_no_call_of_an_api(
    serve: Serve, upstream: Any, tmp_path: Path
) -> None:
    client = await trial(serve, upstream.url)
    told = "".join(f"%{ord(character):02x}" for character in KEY)
    await client.post(f"/t/{TRIAL}/virtual", json=virtual({"city": f"the city of {told}"}))
    (call,) = (await closed(client))["api_calls"]
    assert call["arguments"] == {"city": "the city of [redacted]"}
    assert not found_in(tmp_path, told)


@asynccontextmanager
async def cut_after(event: bytes) -> AsyncIterator[str]:
    """The URL of an endpoint that begins a stream with this event and drops the connection."""

    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        writer.write(b"%x\r\n%b\r\n" % (len(event), event))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(cut, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


@pytest.mark.parametrize("event", [b"data: sk-the-real", b'data: {"a": 1}\n\n'])
async def test_a_stream_that_is_cut_is_cut_for_the_framework_too_and_nothing_is_held_back(
    serve: Serve, event: bytes
) -> None:
    async with cut_after(event) as url:
        client = await trial(serve, url)
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post(CHAT, json=body("cut"))
        (call,) = (await closed(client))["model_calls"]
    assert (call["status"], call["cause"], call["response"].encode()) == (200, "endpoint", event)
    assert "Payload" in call["error"]


async def test_a_framework_that_goes_away_ends_the_request_upstream(serve: Serve, upstream: Any) -> None:
    client = await trial(serve, upstream.url)
    asking = asyncio.ensure_future(client.post(CHAT, json=body("watched")))
    await until(lambda: upstream.requests)
    asking.cancel()
    async with asyncio.timeout(60):
        await upstream.left.wait()
    (call,) = (await closed(client))["model_calls"]
    assert call["status"] == 0
    assert call["error"] == "the endpoint had not answered when the connection was closed"


async def test_closing_a_trial_records_requests_in_flight_as_they_stand(serve: Serve, upstream: Any) -> None:
    client = await trial(serve, upstream.url)
    unanswered = asyncio.ensure_future(client.post(CHAT, json=body("silent")))
    await until(lambda: upstream.requests)
    async with client.stream("POST", CHAT, json=body("streamed", stream=True)) as reply:
        pieces = reply.aiter_bytes()
        await anext(pieces)
        first, second = (await closed(client))["model_calls"]
        assert (await client.post(CHAT, json=body("plain"))).status_code == 410
        upstream.gate.set()
        assert b"".join([piece async for piece in pieces]).endswith(b"data: [DONE]\n\n")
    await unanswered
    assert (first["status"], first["response"]) == (0, "")
    assert (second["status"], second["response"]) == (200, event({"content": "first"}).decode())


async def test_no_header_and_no_query_of_an_agent_chooses_another_model(serve: Serve, upstream: Any) -> None:
    client = await trial(serve, upstream.url)
    choosing = {
        "X-Route-Model": "strong",
        "Cookie": "model=strong",
        "OpenAI-Organization": "other",
        "Helicone-Fallbacks": "[]",
        "X-Forwarded-For": "192.0.2.1",
    }
    usual = {"X-Stainless-Lang": "python", "Traceparent": "00-1", "Agent-Framework-Version": "1"}
    await client.post(f"{CHAT}?api-version=1&route=strong", json=body("plain"), headers=choosing | usual)
    ((got, _, query),) = upstream.requests
    assert query == ""
    assert not {name.lower() for name in choosing} & got.keys()
    assert got["x-stainless-lang"] == "python"
    (call,) = (await closed(client))["model_calls"]
    assert {*call["added"]} == {*(name.lower() for name in choosing), "?route"}


async def test_requests_without_a_trial_are_forwarded_and_models_are_listed(serve: Serve, upstream: Any) -> None:
    client = await serve(upstream=upstream.url)
    headers = {"authorization": "Bearer dummy", "x-own": "passes"}
    reply = await client.post("/v1/chat/completions?api-version=1", json=body("plain"), headers=headers)
    assert (upstream.requests[0][0]["x-own"], upstream.requests[0][2]) == ("passes", "api-version=1")
    assert reply.json()["vendor_field"] == "ü"
    assert "authorization" not in upstream.requests[0][0]
    assert (await client.get("/v1/models")).json()["data"][0]["id"] == "upstream-model"


@pytest.mark.parametrize(
    ("content", "status", "code", "said"),
    [
        ({"content": b'{"model": "plain", "messages": []}'}, 404, "model_not_found", "this trial's model is 'weak'"),
        ({"content": b'{"model": "weak", "models": ["plain"]}'}, 404, "model_not_found", "asks for 'plain'"),
        ({"content": b'{"model": "weak", "model": "plain"}'}, 404, "model_not_found", "--allow-model"),
        ({"content": b'{"messages": []}'}, 400, "invalid_request", "names no model; this trial's is 'weak'"),
        ({"content": '{"model": "plain"}'.encode("utf-16")}, 400, "invalid_request", "not a JSON object in UTF-8"),
        ({"content": gzip.compress(b'{"model": "plain"}')}, 400, "invalid_request", "without a content encoding"),
    ],
)
async def test_a_request_for_another_model_reaches_none(
    serve: Serve, upstream: Upstream, content: dict[str, Any], status: int, code: str, said: str
) -> None:
    client = await serve(upstream=upstream.url, upstream_key=KEY)
    trial = registration(model="weak", base_url=upstream.url, allowed_models=["limited"])
    assert (await client.post("/control/trials", json=trial)).status_code == 201
    answer = await client.post(CHAT, **content)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert said in answer.json()["error"]["message"]
    for _ in range(9):  # however often it asks, the endpoint is not taken to be down
        await client.post(CHAT, **content)
    assert upstream.requests == []
    assert (await client.get("/control/endpoint")).json()["state"] == "closed"
    call, *_ = (await closed(client))["model_calls"]
    assert (call["cause"], bool(call["other_model"])) == ("request", True)
