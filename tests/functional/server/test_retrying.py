"""The gateway repeats what the model's endpoint could not answer, and says whose fault the rest is."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from support.clocks import SleepingClock
from support.planned import CHAT, Endpoint, Step, body, opened, says
from support.servers import TRIAL, Serve, closed, registration
from support.wire import ANSWER, BODY, EVENTS, reply


def gives(content: bytes, status: int = 200, kind: str = "application/json") -> Step:
    """A step that answers with this."""

    async def step(_request: Request) -> Response:
        return Response(content, status, media_type=kind)

    return step


NO_CREDIT = gives(b'{"error": {"code": "insufficient_quota"}}', 429)
AGAIN: dict[str, tuple[list[Step], dict[str, Any], int, str | None, list[int]]] = {
    **{
        str(failing): ([says(failing), says(failing), says(200)], {}, 200, None, [failing] * 2)
        for failing in (408, 409, 425, 429, 500, 502, 503, 504, 520, 529)
    },
    **{f"{failing} stays": ([says(failing)], {}, failing, "request", []) for failing in (400, 422)},
    **{f"{failing} stays": ([says(failing)], {}, failing, "endpoint", []) for failing in (401, 403)},
    "no retries": ([says(503)], {"model_retries": 0}, 503, "endpoint", []),
    "three retries": ([says(503)], {"model_retries": 3}, 503, "endpoint", [503] * 3),
    "told not to": ([says(429, x_should_retry="false")], {}, 429, "endpoint", []),
    "no credit": ([NO_CREDIT], {}, 429, "endpoint", []),
    "too long a wait": ([says(429, retry_after="3600")], {"endpoint_patience": 30}, 429, "endpoint", []),
    "all waits": ([says(429, retry_after="12")], {"endpoint_patience": 30}, 429, "endpoint", [429] * 2),
}
"""Name -> plan, options, and status, cause and failed attempts of the request."""


@pytest.mark.parametrize(("plan", "options", "status", "cause", "attempts"), AGAIN.values(), ids=AGAIN)
async def test_what_may_pass_is_asked_again_and_what_stays_wrong_is_given_back(
    serve: Serve,
    endpoint: Endpoint,
    clock: SleepingClock,
    plan: list[Step],
    options: dict[str, Any],
    status: int,
    cause: str | None,
    attempts: list[int],
) -> None:
    client = await opened(serve, endpoint.url, clock, **options)
    endpoint.plans["m"] = list(plan)
    answer = await client.post(CHAT, json=body())
    assert answer.status_code == status
    (call,) = (await closed(client))["model_calls"]
    assert (call["status"], call["cause"], call["response"]) == (status, cause, answer.text)
    assert [attempt["status"] for attempt in call["attempts"]] == attempts
    assert [attempt["wait"] for attempt in call["attempts"]] == clock.slept
    assert call["waited"] == pytest.approx(sum(clock.slept))
    assert (call["error"] is None) == (cause is None)
    if status == 200:
        assert (answer.json(), "x-should-retry" in answer.headers) == (ANSWER, False)
    elif cause == "endpoint":
        # The framework need not repeat it.
        assert answer.headers.get_list("x-should-retry") == ["false"]


async def test_an_endpoint_is_given_the_time_that_it_asks_for(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock)
    endpoint.plans["m"] = [says(429, retry_after="7"), says(503, retry_after_ms="2500"), says(200)]
    assert (await client.post(CHAT, json=body())).status_code == 200
    first, second = clock.slept
    assert 7 <= first <= 7.5
    assert 2.5 <= second <= 3


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
        assert (await client.post(CHAT, json=body(stream=True))).content == EVENTS
        (call,) = (await closed(client))["model_calls"]
    assert [attempt["status"] for attempt in call["attempts"]] == [0]
    assert (call["cause"], call["response"].encode()) == (None, EVENTS)


async def test_a_request_that_fails_each_time_while_others_are_answered_is_to_blame(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock, model_retries=2)

    async def other_answered_meanwhile(request: Request) -> Response:
        assert (await client.post(CHAT, json=body("fine"))).status_code == 200
        return await says(500)(request)

    endpoint.plans["bad"] = [says(500), other_answered_meanwhile, says(500)]
    endpoint.plans |= {"unlucky": [says(500)], "busy": [says(503)]}
    for model in ("bad", "unlucky", "busy", "fine", "unlucky", "busy"):
        await client.post(CHAT, json=body(model))
    calls = (await closed(client))["model_calls"]
    assert [(json.loads(call["request"])["model"], call["cause"]) for call in calls] == [
        ("bad", "request"),
        ("fine", None),
        ("unlucky", "endpoint"),
        ("busy", "endpoint"),
        ("fine", None),
        ("unlucky", "request"),  # it failed before, too, and others were answered since
        ("busy", "endpoint"),
    ]


TURNS = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]


@pytest.mark.parametrize(
    ("own", "other", "between", "cause"),
    [
        # Only an answer to a request as far in its conversation excuses the endpoint.
        ({"messages": TURNS}, {}, 500, "endpoint"),
        ({"messages": TURNS}, {"messages": TURNS}, 500, "request"),
        # It had no capacity meanwhile.
        ({}, {}, 500, "request"),
        ({}, {}, 429, "endpoint"),
        ({}, {}, 503, "endpoint"),
    ],
)
async def test_a_request_is_to_blame_only_if_others_like_it_are_answered_between_its_failures(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock, own: Any, other: Any, between: int, cause: str
) -> None:
    client = await opened(serve, endpoint.url, clock, model_retries=2)

    async def other_answered_meanwhile(request: Request) -> Response:
        assert (await client.post(CHAT, json=body("fine", **other))).status_code == 200
        return await says(between)(request)

    endpoint.plans["m"] = [says(500), other_answered_meanwhile, says(500)]
    assert (await client.post(CHAT, json=body(**own))).status_code == 500
    call, _ = (await closed(client))["model_calls"]
    assert ([attempt["status"] for attempt in call["attempts"]], call["cause"]) == ([500, between], cause)


async def test_an_endpoint_that_fails_at_the_models_own_broken_call_is_not_down(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock, model_retries=2)
    cut = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"city": "Tirr'}}
    messages = [{"role": "assistant", "tool_calls": [cut]}, {"role": "tool", "tool_call_id": "1", "content": "?"}]
    endpoint.plans["m"] = [says(500)]
    await client.post(CHAT, json=body("fine"))
    for own in ({"messages": messages}, {}):
        assert (await client.post(CHAT, json=body(**own))).status_code == 500
    assert [call["cause"] for call in (await closed(client))["model_calls"]] == [None, "request", "endpoint"]


async def test_the_time_of_the_trial_decides_how_long_the_endpoint_may_be_silent(
    serve: Serve, endpoint: Endpoint
) -> None:
    endpoint.plans["m"] = [endpoint.hang]
    client = await opened(serve, endpoint.url, None, seconds=60, upstream_timeout=0.05)
    asyncio.get_running_loop().call_later(0.5, endpoint.gate.set)
    assert (await client.post(CHAT, json=body())).status_code == 200
    endpoint.gate.clear()
    limits = {"max_steps": 9, "timeout": 0.05}
    short = registration(trial="trial-token-2", model="m", base_url=endpoint.url, limits=limits)
    assert (await client.post("/control/trials", json=short)).status_code == 201
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
    client = await opened(serve, endpoint.url, clock)
    endpoint.plans["m"] = [gives(content, kind=kind)]
    assert (await client.post(CHAT, json=body())).content == content
    (call,) = (await closed(client))["model_calls"]
    assert (call["status"], call["cause"], call["error"] is None) == (200, cause, cause is None)
