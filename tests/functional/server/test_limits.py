"""The number of a trial's requests to its model, which the gateway bounds."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from support.clocks import SleepingClock
from support.planned import Endpoint, says
from support.servers import OFFERED, TRIAL, Serve, closed, registration
from support.wire import saying

CHAT = f"/t/{TRIAL}/v1/chat/completions"
BODY = {"model": "m", "messages": [{"role": "user", "content": "?"}], "tools": OFFERED}
ACTED_UPON = (
    *("rate limit", "rate_limit", "too many", "quota", "overloaded", "unavailable", "connection error"),
    *("context length", "context_length", "context window", "contextwindow", "maximum length", "exceed", "too long"),
    *("too large", "token limit", "max_tokens", "configured limit", "not support", "unsupported", "not found"),
    *("api key", "api_key", "unauthorized", "authentication", "permission denied", "forbidden"),
)
"""What frameworks and SDKs look for in an error's text."""

LIMITS = {"max_steps": 2, "timeout": 30}


async def opened(serve: Serve, clock: SleepingClock | None = None, **fields: Any) -> httpx.AsyncClient:
    client = await serve(clock=clock)
    reply = await client.post("/control/trials", json=registration(model="scripted:loop", **fields))
    assert reply.status_code == 201, reply.text
    return client


async def test_a_request_past_the_limit_is_refused_and_recorded(serve: Serve) -> None:
    client = await opened(serve, limits=LIMITS)
    replies = [await client.post(CHAT, json=BODY) for _ in range(4)]
    assert [reply.status_code for reply in replies] == [200, 200, 403, 403]
    error = replies[-1].json()["error"]
    assert error["code"] == "max_steps"
    assert "2 times" in error["message"]
    assert replies[-1].headers["x-should-retry"] == "false"
    calls = (await closed(client))["model_calls"]
    assert [call["cause"] for call in calls] == [None, None, "limit", "limit"]
    assert [call["status"] for call in calls] == [200, 200, 403, 403]
    assert len({call["tool_calls"][0]["name"] for call in calls[:2]}) == 1
    assert [call["tool_calls"] for call in calls[2:]] == [[], []]


async def test_neither_the_list_of_models_nor_an_unknown_path_is_a_step(serve: Serve) -> None:
    client = await opened(serve, limits={**LIMITS, "max_steps": 1})
    for _ in range(3):
        assert (await client.get(f"/t/{TRIAL}/v1/models")).status_code == 200
        assert (await client.post(f"/t/{TRIAL}/v1/completions", json={})).status_code == 404
    assert (await client.post(CHAT, json=BODY)).status_code == 200
    assert [call["cause"] for call in (await closed(client))["model_calls"]] == ["path"] * 3 + [None]


async def test_what_the_endpoint_did_not_answer_is_no_step_but_a_refusal_is(serve: Serve) -> None:
    async with saying(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}") as refusing:
        dead = "http://127.0.0.1:9/v1"
        for url, statuses in ((dead, [502, 502, 502]), (refusing.url, [400, 400, 403])):
            client = await serve(upstream=url, model_retries=0)
            await client.post("/control/trials", json=registration(model="m", base_url=url, limits=LIMITS))
            assert [(await client.post(CHAT, json=BODY)).status_code for _ in range(3)] == statuses


async def test_the_request_after_the_last_token_is_refused(serve: Serve) -> None:
    client = await opened(serve, limits={**LIMITS, "max_steps": 9}, max_trial_tokens=1)
    replies = [await client.post(CHAT, json=BODY) for _ in range(3)]
    assert [reply.status_code for reply in replies] == [200, 403, 403]
    error, used = replies[-1].json()["error"], replies[0].json()["usage"]["total_tokens"]
    assert error["code"] == "max_trial_tokens"
    assert error["type"] == "invalid_request_error"
    assert f"{used} tokens, and its setting max_trial_tokens is 1" in error["message"]
    calls = (await closed(client))["model_calls"]
    assert [call["limit"] for call in calls] == [None, "max_trial_tokens", "max_trial_tokens"]


async def test_a_request_after_the_trials_time_is_refused(serve: Serve, clock: SleepingClock) -> None:
    client = await opened(serve, clock, limits={**LIMITS, "max_steps": 9})
    clock.time += 100  # it begins with its first request
    assert (await client.post(CHAT, json=BODY)).status_code == 200
    clock.time += LIMITS["timeout"]
    assert (await client.post(CHAT, json=BODY)).status_code == 200
    clock.time += 0.5
    refused = await client.post(CHAT, json=BODY)
    assert refused.status_code == 403
    error = refused.json()["error"]
    assert (error["code"], error["type"]) == ("timeout", "invalid_request_error")
    assert "longer than the 30 s that its setting timeout allows" in error["message"]
    calls = (await closed(client))["model_calls"]
    assert [(call["cause"], call["limit"]) for call in calls] == [(None, None), (None, None), ("limit", "timeout")]


async def test_waiting_for_the_endpoint_takes_none_of_the_trials_time(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await serve(upstream=endpoint.url, clock=clock)
    fields = {"base_url": endpoint.url, "limits": {**LIMITS, "max_steps": 9}}
    await client.post("/control/trials", json=registration(model="m", **fields))
    endpoint.plans["m"] = [says(429, retry_after="40"), says(200)]
    statuses = []
    for seconds in (0, 29, 2):
        clock.time += seconds
        statuses.append((await client.post(CHAT, json=BODY)).status_code)
    assert statuses == [200, 200, 403]


@pytest.mark.parametrize(
    "fields",
    [{"limits": {**LIMITS, "max_steps": 1}}, {"max_trial_tokens": 1}, {"limits": {**LIMITS, "max_steps": 9}}],
    ids=["max_steps", "max_trial_tokens", "timeout"],
)
async def test_a_refusal_has_no_words_that_frameworks_act_upon(
    serve: Serve, clock: SleepingClock, fields: dict[str, Any]
) -> None:
    """They repeat a request, or condense the conversation, for what an error's text says."""
    client = await opened(serve, clock, **fields)
    await client.post(CHAT, json=BODY)
    clock.time += LIMITS["timeout"] + 1
    refusal = await client.post(CHAT, json=BODY)
    assert refusal.status_code == 403
    message = refusal.text.lower()
    assert not [word for word in ACTED_UPON if word in message]
