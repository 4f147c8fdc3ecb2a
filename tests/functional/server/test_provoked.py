"""Refusals that a request brought on itself, and those that a plain request meets, too."""

from __future__ import annotations

import asyncio

import pytest
from starlette.requests import Request
from starlette.responses import Response
from support.clocks import SleepingClock
from support.planned import CHAT, Endpoint, body, opened, says, status
from support.servers import Serve, closed

from trialbed.wire.circuit import FAILURES

OWN = {"openai-beta": "wrong"}


def refuses_own(refused: int) -> object:
    """A step that refuses the requests with a header of their own, and answers the others."""

    async def step(request: Request) -> Response:
        return await says(refused if "openai-beta" in request.headers else 200)(request)

    return step


@pytest.mark.parametrize("refused", [401, 403, 404, 407])
async def test_a_refusal_that_no_plain_request_meets_is_the_requests_fault_and_stops_no_other(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock, refused: int
) -> None:
    client = await opened(serve, endpoint.url, clock)
    endpoint.plans["m"] = [refuses_own(refused)]
    for number in range(FAILURES):
        asked = body(messages=[{"role": "user", "content": str(number)}])
        answer = await client.post(CHAT, json=asked, headers=OWN)
        assert answer.status_code == refused
    assert (await status(client))["state"] == "closed"
    assert (await client.post(CHAT, json=body())).status_code == 200
    calls = (await closed(client))["model_calls"]
    assert [(call["cause"], call["provoked"]) for call in calls] == [*FAILURES * [("request", True)], (None, False)]
    assert [attempt["status"] for attempt in calls[0]["attempts"]] == [refused] * 2
    # The framework does not pay for the plain requests: each refusal is followed by one.
    assert calls[0]["waited"] == pytest.approx(sum(clock.slept[:2]))
    assert len(endpoint.requests) == FAILURES * 6 + 1


async def test_a_refusal_now_and_then_is_not_the_requests_fault(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock)
    endpoint.plans["m"] = [says(401), says(200), says(200)]
    assert (await client.post(CHAT, json=body())).status_code == 200
    (call,) = (await closed(client))["model_calls"]
    assert (call["cause"], [attempt["status"] for attempt in call["attempts"]]) == (None, [401])


async def test_a_key_that_ends_between_two_requests_is_the_endpoints_fault(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock)
    endpoint.plans["m"] = [says(401), says(200), says(401)]
    assert (await client.post(CHAT, json=body())).status_code == 401
    (call,) = (await closed(client))["model_calls"]
    assert (call["cause"], call["provoked"], len(call["attempts"])) == ("endpoint", False, 1)


async def test_requests_that_wait_for_a_plain_one_share_it(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock)
    endpoint.plans["m"] = [says(401)]
    asked = [client.post(CHAT, json=body(messages=[{"role": "user", "content": str(n)}])) for n in range(FAILURES)]
    assert {answer.status_code for answer in await asyncio.gather(*asked)} <= {401, 503}
    assert len(endpoint.requests) <= 2 * FAILURES
    assert (await status(client))["state"] == "down"
    assert {call["cause"] for call in (await closed(client))["model_calls"]} == {"endpoint"}


async def test_a_malformed_request_is_known_to_be_one_before_any_was_answered(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock)
    endpoint.plans["m"] = [refuses_own(400)]
    for _ in range(3):
        assert (await client.post(CHAT, json=body(), headers=OWN)).status_code == 400
    # One plain request shows for all that the endpoint works.
    assert len(endpoint.requests) == 4
    calls = (await closed(client))["model_calls"]
    assert {(call["cause"], call["provoked"], len(call["attempts"])) for call in calls} == {("request", True, 0)}


async def test_an_endpoint_that_refuses_plain_requests_too_is_not_known_to_work(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock)
    endpoint.plans["m"] = [says(400)]
    assert (await client.post(CHAT, json=body())).status_code == 400
    (call,) = (await closed(client))["model_calls"]
    assert (call["cause"], call["provoked"]) == ("request", False)
