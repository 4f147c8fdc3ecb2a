"""The gateway keeps to the limits of an endpoint, in nobody's time."""

from __future__ import annotations

import asyncio
import json

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from support.clocks import SleepingClock
from support.planned import CHAT, Endpoint, body, opened, says
from support.servers import Serve, closed
from support.wire import ANSWER

from trialbed.records import WireLog
from trialbed.wire_log import compute_timing


async def test_requests_over_the_limit_of_a_minute_wait_and_that_is_nobodys_time(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock, rpm=2)
    endpoint.plans["m"] = [says(200)]
    for _ in range(3):
        assert (await client.post(CHAT, json=body())).status_code == 200
    log = WireLog.model_validate(await closed(client))
    assert [call.waited for call in log.model_calls] == [0, 0, pytest.approx(60)]
    assert all(call.cause is None for call in log.model_calls)
    timing = compute_timing(60.0, log)
    assert timing.waiting == pytest.approx(60)
    assert timing.framework + timing.model == pytest.approx(0, abs=0.1)


async def test_tokens_of_a_minute_are_those_that_the_model_reports(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    request = json.dumps(body())
    guessed, used = len(request) / 4, sum(ANSWER["usage"].values())
    assert used < guessed
    client = await opened(serve, endpoint.url, clock, tpm=int(guessed + used) + 1)
    endpoint.plans["m"] = [says(200)]
    for _ in range(3):
        await client.post(CHAT, content=request)
    log = WireLog.model_validate(await closed(client))
    assert [call.waited for call in log.model_calls] == [0, 0, pytest.approx(60)]


async def test_after_a_429_fewer_are_asked_at_a_time(serve: Serve, endpoint: Endpoint, clock: SleepingClock) -> None:
    client = await opened(serve, endpoint.url, clock)
    endpoint.plans["m"] = [*[says(429)] * 8, says(200)]
    answers = await asyncio.gather(*(client.post(CHAT, json=body()) for _ in range(8)))
    assert [answer.status_code for answer in answers] == [200] * 8
    status = (await client.get("/control/endpoint")).json()
    # Half of them, if all were asked before the first refusal came, and one more for the answers since.
    assert 1 <= status["at_a_time"] <= 5
    assert status["held"] == 0


async def test_vectors_are_no_tokens(serve: Serve, endpoint: Endpoint, clock: SleepingClock) -> None:
    async def vectors(_request: Request) -> Response:
        return JSONResponse({"data": [{"embedding": [0.5] * 10_000}], "usage": {"prompt_tokens": 1}})

    endpoint.app.router.routes.append(Route("/v1/embeddings", vectors, methods=["POST"]))
    client = await opened(serve, endpoint.url, clock, tpm=1000)
    answer = await client.post(CHAT.replace("chat/completions", "embeddings"), json={"model": "m", "input": "hi"})
    assert answer.status_code == 200
    assert (await client.post(CHAT, json=body())).status_code == 200
    (call,) = WireLog.model_validate(await closed(client)).model_calls
    assert call.waited == 0


# The limit of tokens has room for about those of the request, and for no other ones.
@pytest.mark.parametrize("limit", [{"rpm": 1}, {"tpm": len(json.dumps(body())) // 4 + 1}])
async def test_the_gateways_own_requests_keep_the_limit_too_and_their_wait_is_nobodys_time(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock, limit: dict[str, int]
) -> None:
    client = await opened(serve, endpoint.url, clock, **limit)
    # The second answer is to the plain request that shows whether the first was the request's own fault.
    endpoint.plans["m"] = [says(400), says(200)]
    began = clock.time
    assert (await client.post(CHAT, json=body())).status_code == 400
    assert clock.time - began == pytest.approx(60)
    (call,) = WireLog.model_validate(await closed(client)).model_calls
    assert (call.cause, call.waited) == ("request", pytest.approx(60))
