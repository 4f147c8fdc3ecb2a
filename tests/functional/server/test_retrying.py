"""The gateway repeats what the model's endpoint could not answer, and says whose fault the rest is."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from support.clocks import SleepingClock
from support.planned import CHAT, Endpoint, body, opened, says
from support.servers import TRIAL, Serve, closed, registration
from support.wire import ANSWER, BODY, EVENTS, reply


@pytest.mark.parametrize("failing", [408, 409, 425, 429, 500, 502, 503, 504, 520, 529])
async def test_what_may_pass_is_asked_again(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock, failing: int
) -> None:
    client = await opened(serve, endpoint.url, clock)
    endpoint.plans["m"] = [says(failing), says(failing), says(200)]
    answer = await client.post(CHAT, json=body())
    assert (answer.status_code, answer.json()) == (200, ANSWER)
    assert "x-should-retry" not in answer.headers
    (call,) = (await closed(client))["model_calls"]
    assert (call["status"], call["cause"], call["error"]) == (200, None, None)
    assert [attempt["status"] for attempt in call["attempts"]] == [failing] * 2
    assert [attempt["wait"] for attempt in call["attempts"]] == clock.slept
    assert call["waited"] == pytest.approx(sum(clock.slept))
    assert f"failed with {failing}" in call["attempts"][0]["error"]


@pytest.mark.parametrize(
    ("failing", "cause"), [(400, "request"), (422, "request"), (401, "endpoint"), (403, "endpoint")]
)
async def test_what_stays_wrong_is_given_back_at_once(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock, failing: int, cause: str
) -> None:
    client = await opened(serve, endpoint.url, clock)
    endpoint.plans["m"] = [says(failing)]
    answer = await client.post(CHAT, json=body())
    assert (answer.status_code, answer.json()["error"]["message"]) == (failing, f"failed with {failing}")
    (call,) = (await closed(client))["model_calls"]
    assert (call["status"], call["cause"], call["attempts"], clock.slept) == (failing, cause, [], [])
    assert call["response"] == answer.text
    assert str(failing) in call["error"]


async def test_an_endpoint_is_given_the_time_that_it_asks_for(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock)
    endpoint.plans["m"] = [says(429, retry_after="7"), says(503, retry_after_ms="2500"), says(200)]
    assert (await client.post(CHAT, json=body())).status_code == 200
    first, second = clock.slept
    assert 7 <= first <= 7.5
    assert 2.5 <= second <= 3


async def test_all_waits_of_a_request_share_its_patience(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock, endpoint_patience=30, model_retries=100)
    endpoint.plans["m"] = [says(429, retry_after="12")]
    assert (await client.post(CHAT, json=body())).status_code == 429
    assert len(clock.slept) == 2


async def test_what_asks_for_more_time_than_there_is_is_given_back(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock, endpoint_patience=30)
    endpoint.plans["m"] = [says(429, retry_after="3600")]
    answer = await client.post(CHAT, json=body())
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "3600"
    assert clock.slept == []


@pytest.mark.parametrize("retries", [0, 3])
async def test_what_still_fails_keeps_its_status_and_body(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock, retries: int
) -> None:
    client = await opened(serve, endpoint.url, clock, model_retries=retries)
    endpoint.plans["m"] = [says(503, x_vendor="kept")]
    answer = await client.post(CHAT, json=body())
    assert (answer.status_code, answer.json()["error"]["message"]) == (503, "failed with 503")
    assert answer.headers["x-vendor"] == "kept"
    assert answer.headers["x-should-retry"] == "false"
    assert len(endpoint.requests) == retries + 1
    (call,) = (await closed(client))["model_calls"]
    assert (call["cause"], len(call["attempts"])) == ("endpoint", retries)
    assert call["waited"] == pytest.approx(call["duration"])


async def test_an_endpoint_can_say_that_another_attempt_is_of_no_use(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock)
    endpoint.plans["m"] = [says(429, x_should_retry="false")]
    answer = await client.post(CHAT, json=body())
    assert (answer.status_code, answer.headers.get_list("x-should-retry")) == (429, ["false"])
    assert len(endpoint.requests) == 1


async def test_an_account_without_credit_is_asked_once(serve: Serve, endpoint: Endpoint, clock: SleepingClock) -> None:
    client = await opened(serve, endpoint.url, clock)

    async def refuse(_request: Request) -> Response:
        return Response('{"error": {"code": "insufficient_quota"}}', 429, media_type="application/json")

    endpoint.plans["m"] = [refuse]
    assert (await client.post(CHAT, json=body())).status_code == 429
    assert (len(endpoint.requests), clock.slept) == (1, [])


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("first", [b"", b"HTTP/1.1 200", HEAD])
async def test_a_connection_that_breaks_before_the_answer_is_made_again(
    serve: Serve, clock: SleepingClock, first: bytes
) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(first if len(asked) == 1 else reply("connection: close", body=EVENTS, kind="text/event-stream"))
        await writer.drain()
        writer.close()

    asked: list[bytes] = []
    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        client = await opened(serve, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", clock)
        answer = await client.post(CHAT, json=body(stream=True))
        assert answer.content == EVENTS
        (call,) = (await closed(client))["model_calls"]
    assert [attempt["status"] for attempt in call["attempts"]] == [0]
    assert (call["cause"], call["response"].encode()) == (None, EVENTS)


async def test_an_answer_that_has_begun_is_not_repeated(serve: Serve, clock: SleepingClock) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(HEAD + b'10\r\ndata: {"a": 1}\n\n\r\n')
        await writer.drain()
        writer.close()

    asked: list[bytes] = []
    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        client = await opened(serve, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", clock)
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post(CHAT, json=body(stream=True))
        (call,) = (await closed(client))["model_calls"]
    assert (len(asked), call["status"], call["cause"], call["attempts"]) == (1, 200, "endpoint", [])


async def test_a_request_that_fails_each_time_while_others_are_answered_is_to_blame(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock, model_retries=2)

    async def other_answered_meanwhile(request: Request) -> Response:
        assert (await client.post(CHAT, json=body("fine"))).status_code == 200
        return await says(500)(request)

    endpoint.plans["bad"] = [says(500), other_answered_meanwhile, says(500)]
    endpoint.plans["unlucky"] = [says(500)]
    endpoint.plans["busy"] = [says(503)]
    for model in ("bad", "unlucky", "busy"):
        assert (await client.post(CHAT, json=body(model))).status_code in (500, 503)
    await client.post(CHAT, json=body("fine"))
    for model in ("unlucky", "busy"):
        await client.post(CHAT, json=body(model))
    calls = (await closed(client))["model_calls"]
    causes = [(json.loads(call["request"])["model"], call["cause"]) for call in calls]
    assert causes == [
        ("bad", "request"),
        ("fine", None),
        ("unlucky", "endpoint"),
        ("busy", "endpoint"),
        ("fine", None),
        ("unlucky", "request"),  # it failed before, too, and others were answered since
        ("busy", "endpoint"),
    ]


@pytest.mark.parametrize(("continues", "cause"), [(False, "endpoint"), (True, "request")])
async def test_a_second_turn_is_to_blame_only_if_other_second_turns_are_answered(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock, continues: bool, cause: str
) -> None:
    client = await opened(serve, endpoint.url, clock, model_retries=2)
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]

    async def other_answered_meanwhile(request: Request) -> Response:
        other = {"messages": messages} if continues else {}
        assert (await client.post(CHAT, json={**body("fine"), **other})).status_code == 200
        return await says(500)(request)

    endpoint.plans["bad"] = [says(500), other_answered_meanwhile, says(500)]
    assert (await client.post(CHAT, json={**body("bad"), "messages": messages})).status_code == 500
    call, _ = (await closed(client))["model_calls"]
    assert call["cause"] == cause


async def test_an_endpoint_that_fails_at_the_models_own_broken_call_is_not_down(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock, model_retries=2)
    cut = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"city": "Tirr'}}
    messages = [{"role": "assistant", "tool_calls": [cut]}, {"role": "tool", "tool_call_id": "1", "content": "?"}]
    endpoint.plans["m"] = [says(500)]
    await client.post(CHAT, json=body("fine"))
    assert (await client.post(CHAT, json={**body(), "messages": messages})).status_code == 500
    assert (await client.post(CHAT, json=body())).status_code == 500
    calls = (await closed(client))["model_calls"]
    assert [call["cause"] for call in calls] == [None, "request", "endpoint"]


@pytest.mark.parametrize(("between", "cause"), [(500, "request"), (429, "endpoint"), (503, "endpoint")])
async def test_a_request_is_not_to_blame_if_the_endpoint_had_no_capacity_for_it_meanwhile(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock, between: int, cause: str
) -> None:
    client = await opened(serve, endpoint.url, clock, model_retries=2)

    async def other_answered_meanwhile(request: Request) -> Response:
        assert (await client.post(CHAT, json=body("fine"))).status_code == 200
        return await says(between)(request)

    endpoint.plans["m"] = [says(500), other_answered_meanwhile, says(500)]
    assert (await client.post(CHAT, json=body())).status_code == 500
    call, _ = (await closed(client))["model_calls"]
    assert [attempt["status"] for attempt in call["attempts"]] == [500, between]
    assert call["cause"] == cause


async def test_a_request_that_was_answered_meanwhile_is_not_to_blame_for_its_next_failure(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock, model_retries=0)
    endpoint.plans["m"] = [says(500), says(200), says(500)]
    assert [(await client.post(CHAT, json=body())).status_code for _ in range(3)] == [500, 200, 500]
    assert [call["cause"] for call in (await closed(client))["model_calls"]] == ["endpoint", None, "endpoint"]


async def test_only_so_many_requests_are_remembered_because_the_endpoint_failed_at_them(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trialbed_server.gateway.upstream.REMEMBERED", 1)
    client = await opened(serve, endpoint.url, clock, model_retries=0)
    endpoint.plans = {model: [says(500)] for model in ("first", "second")}
    for model in ("first", "second", "fine", "second", "first"):
        await client.post(CHAT, json=body(model))
    causes = [call["cause"] for call in (await closed(client))["model_calls"]]
    assert causes == ["endpoint", "endpoint", None, "request", "endpoint"]


async def test_the_time_of_the_trial_decides_how_long_the_endpoint_may_be_silent(
    serve: Serve, endpoint: Endpoint
) -> None:
    endpoint.plans["m"] = [endpoint.hang]
    client = await opened(serve, endpoint.url, None, seconds=60, upstream_timeout=0.05)
    asyncio.get_running_loop().call_later(0.5, endpoint.gate.set)
    assert (await client.post(CHAT, json=body())).status_code == 200
    endpoint.gate.clear()
    await closed(client)
    short = registration(trial="trial-token-2", model="m", base_url=endpoint.url)
    limits = {"max_steps": 9, "timeout": 0.05}
    assert (await client.post("/control/trials", json={**short, "limits": limits})).status_code == 201
    answer = await client.post(CHAT.replace(TRIAL, "trial-token-2"), json=body())
    assert (answer.status_code, answer.json()["error"]["type"]) == (504, "upstream_error")
    (call,) = (await closed(client, "trial-token-2"))["model_calls"]
    assert (call["cause"], call["attempts"]) == ("endpoint", [])


@pytest.mark.parametrize(
    ("content", "kind", "cause"),
    [
        (b"<html>no</html>", "text/html", "endpoint"),
        (b"", "application/json", "endpoint"),
        (b'{"error": {"message": "busy", "code": 429}}', "application/json", "endpoint"),
        (b'{"error": {"message": "bad", "code": 400}}', "application/json", "request"),
        (BODY, "application/json", None),
    ],
)
async def test_a_failure_with_status_200_is_one(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock, content: bytes, kind: str, cause: str | None
) -> None:
    async def step(_request: Request) -> Response:
        return Response(content, media_type=kind)

    client = await opened(serve, endpoint.url, clock)
    endpoint.plans["m"] = [step]
    assert (await client.post(CHAT, json=body())).content == content
    (call,) = (await closed(client))["model_calls"]
    assert (call["status"], call["cause"], call["error"] is None) == (200, cause, cause is None)


async def test_it_is_said_which_failure_is_waited_for(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await opened(serve, endpoint.url, clock)
    endpoint.plans["m"] = [says(429, retry_after="0"), says(200)]
    seen = []

    async def look(_seconds: float) -> None:
        seen.append((await client.get("/control/endpoint")).json())

    monkeypatch.setattr(clock, "sleep", look)
    assert (await client.post(CHAT, json=body())).status_code == 200
    assert [(status["waiting"], status["answered"], status["state"]) for status in seen] == [(1, 0, "closed")]
    assert "answered with status 429" in seen[0]["reason"]
    after = (await client.get("/control/endpoint")).json()
    assert (after["waiting"], after["reason"]) == (0, "")
