"""The gateway's circuit breaker, and requests at an endpoint that no longer answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from support.clocks import SleepingClock
from support.planned import CHAT, Endpoint, body, opened, says, status
from support.servers import TRIAL, Serve, closed, until

from trialbed.wire.circuit import FAILURES


async def test_an_address_where_nothing_ever_answered_is_given_up_soon(serve: Serve, clock: SleepingClock) -> None:
    client = await opened(serve, "http://127.0.0.1:9/v1", clock)
    began = clock.time
    for model in "abc":
        assert (await client.post(CHAT, json=body(model))).status_code in (502, 503)
    assert clock.time - began < 10
    assert [len(call["attempts"]) for call in (await closed(client))["model_calls"]] == [2, 2, 0]


async def test_an_endpoint_that_is_down_is_not_asked_any_more(serve: Serve, clock: SleepingClock) -> None:
    client = await opened(serve, "http://127.0.0.1:9/v1", clock, seconds=600, endpoint_patience=50)
    assert await status(client) == {
        "state": "closed",
        "answered": 0,
        "reason": "",
        "waiting": 0,
        "held": 0,
        "at_a_time": None,
    }
    for model in "ab":
        assert (await client.post(CHAT, json=body(model))).status_code == 502
    found = await status(client)
    assert found["state"] in ("open", "down")
    assert "Cannot connect" in found["reason"]
    clock.time += 55  # past the patience, within the timeout of the trial
    assert (await status(client))["state"] == "down"
    await client.post(CHAT, json=body("probe"))
    began = clock.time
    answer = await client.post(CHAT, json=body("c"))
    assert answer.status_code == 503
    assert "keeps failing" in answer.json()["error"]["message"]
    assert clock.time == began
    calls = (await closed(client))["model_calls"]
    assert {call["cause"] for call in calls} == {"endpoint"}
    assert all(call["waited"] == pytest.approx(call["duration"]) for call in calls)


async def test_a_circuit_that_is_open_closes_when_the_endpoint_is_back(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock, model_retries=2)
    endpoint.plans["a"] = endpoint.plans["b"] = [says(503)]
    for model in "ab":
        assert (await client.post(CHAT, json=body(model))).status_code == 503
    assert (await status(client))["state"] == "open"
    assert (await client.post(CHAT, json=body())).status_code == 200
    assert await status(client) == {
        "state": "closed",
        "answered": 1,
        "reason": "",
        "waiting": 0,
        "held": 0,
        "at_a_time": 2,
    }
    last = (await closed(client))["model_calls"][-1]
    assert (last["cause"], last["attempts"]) == (None, [])
    assert last["waited"] > 0


async def test_a_trial_tells_how_long_it_waits_while_it_does(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock)
    clock.awake.clear()
    endpoint.plans["m"] = [says(503)]
    asking = asyncio.ensure_future(client.post(CHAT, json=body()))
    await until(lambda: clock.slept)
    clock.time += 5
    assert (await client.get(f"/t/{TRIAL}/waited")).json() == {"waited": 5}
    (call,) = (await closed(client))["model_calls"]
    assert (call["status"], call["cause"], call["waited"]) == (0, "endpoint", 5)
    clock.awake.set()
    await asking


@pytest.mark.parametrize(
    ("others", "later", "cause"),
    [(False, False, "endpoint"), (True, False, "gone"), (True, True, "endpoint")],
    ids=["no other", "others", "first turns alone"],
)
@pytest.mark.parametrize("leaves", [False, True])
async def test_a_request_in_flight_is_the_endpoints_fault_if_it_answers_no_other(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock, others: bool, later: bool, cause: str, leaves: bool
) -> None:
    turns = [{"role": "assistant", "content": "!"}] * later
    client = await opened(serve, endpoint.url, clock)
    endpoint.plans["hangs"] = [endpoint.hang]
    assert (await client.post(CHAT, json=body("fine"))).status_code == 200
    asked = {**body("hangs"), "messages": [{"role": "user", "content": "?"}, *turns]}
    asking = asyncio.ensure_future(client.post(CHAT, json=asked))
    await until(lambda: "hangs" in endpoint.requests)
    clock.time += 10
    if others:
        assert (await client.post(CHAT, json=body("fine"))).status_code == 200
    if leaves:
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
        while 'status="0"' not in (await client.get("/metrics")).text:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)
    calls = (await closed(client))["model_calls"]
    (call,) = [call for call in calls if json.loads(call["request"])["model"] == "hangs"]
    assert (call["status"], call["cause"]) == (0, cause)
    endpoint.gate.set()
    if not leaves:
        await asking


async def unanswered(client: httpx.AsyncClient, count: int) -> None:
    """Wait until the gateway has noticed that so many requests were left before their answers were complete."""
    noticed = f'trialbed_gateway_requests_total{{status="0"}} {count}.0'
    while noticed not in (await client.get("/metrics")).text:  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0.01)


async def test_a_request_that_meets_an_open_circuit_waits_for_what_is_left_of_its_patience(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock, endpoint_patience=30)
    endpoint.plans = {"m": [says(503)], "probe": [endpoint.hang], "other": [says(503, x_should_retry="false")]}
    clock.awake.clear()
    began = clock.time
    asking = asyncio.ensure_future(client.post(CHAT, json=body()))
    await until(lambda: clock.slept)
    clock.time += 20
    for _ in range(FAILURES - 1):
        await client.post(CHAT, json=body("other"))
    assert (await status(client))["state"] == "open"
    clock.time += 2
    probing = asyncio.ensure_future(client.post(CHAT, json=body("probe")))
    await until(lambda: "probe" in endpoint.requests)
    clock.awake.set()
    assert (await asking).status_code == 503
    # The circuit opened 20 s after its first failure, and would have let it wait for 20 s more.
    assert clock.time - began == pytest.approx(30)
    assert endpoint.requests.count("m") == 1
    endpoint.gate.set()
    assert (await probing).status_code == 200


@pytest.mark.parametrize("others", [False, True])
async def test_silence_that_a_framework_does_not_await_opens_the_circuit(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock, others: bool
) -> None:
    client = await opened(serve, endpoint.url, clock)
    models = [f"hangs-{number}" for number in range(FAILURES)]
    endpoint.plans = {model: [endpoint.hang] for model in models}
    asking = [asyncio.ensure_future(client.post(CHAT, json=body(model))) for model in models]
    await until(lambda: len(endpoint.requests) == FAILURES)
    clock.time += 10
    if others:
        assert (await client.post(CHAT, json=body("fine"))).status_code == 200
    for request in asking:
        request.cancel()
    await unanswered(client, FAILURES)
    found = await status(client)
    assert found["state"] == ("closed" if others else "open")
    assert ("does not begin to answer" in found["reason"]) is not others


async def test_a_framework_that_leaves_within_an_answer_has_seen_the_endpoint_work(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    async def begins(_request: Request) -> Response:
        async def pieces() -> AsyncIterator[bytes]:
            yield b"data: {}\n\n"
            await endpoint.gate.wait()

        return StreamingResponse(pieces(), media_type="text/event-stream")

    client = await opened(serve, endpoint.url, clock)
    endpoint.plans = {name: [says(503, x_should_retry="false")] for name in ("a", "b")} | {"begins": [begins]}
    for number in range(FAILURES - 1):
        await client.post(CHAT, json=body("ab"[number % 2]))
    async with client.stream("POST", CHAT, json=body("begins", stream=True)) as answer:
        await anext(answer.aiter_bytes())
    await unanswered(client, 1)
    await client.post(CHAT, json=body("a"))
    assert (await status(client))["state"] == "closed"


async def test_a_request_that_waits_to_be_repeated_as_its_trial_ends_is_the_endpoints_fault(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock)
    endpoint.plans["m"] = [says(503)]
    clock.awake.clear()
    asking = asyncio.ensure_future(client.post(CHAT, json=body()))
    await until(lambda: clock.slept)
    clock.time += 5
    assert (await client.post(CHAT, json=body("fine"))).status_code == 200
    calls = (await closed(client))["model_calls"]
    assert [(call["status"], call["cause"]) for call in calls] == [(0, "endpoint"), (200, None)]
    clock.awake.set()
    await asking


@pytest.mark.parametrize(("known", "state"), [(False, "down"), (True, "closed")])
async def test_an_unknown_model_is_the_requests_fault_only_if_the_trials_own_is_known(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock, known: bool, state: str
) -> None:
    client = await opened(serve, endpoint.url, clock)
    endpoint.plans = {model: [says(404)] for model in ("a", "b", *(() if known else ("m",)))}
    assert (await client.post(CHAT, json=body("fine"))).status_code == 200
    for number in range(FAILURES):
        assert (await client.post(CHAT, json=body("ab"[number % 2]))).status_code == 404
    assert (await status(client))["state"] == state
    assert (await closed(client))["model_calls"][-1]["cause"] == ("request" if known else "endpoint")


async def test_requests_in_line_for_their_turns_are_not_sent_to_an_endpoint_that_fails_meanwhile(
    serve: Serve, endpoint: Endpoint, clock: SleepingClock
) -> None:
    client = await opened(serve, endpoint.url, clock, rpm=FAILURES, model_retries=0, endpoint_patience=10)
    endpoint.plans = {str(number): [says(500)] for number in range(4 * FAILURES)}
    answers = await asyncio.gather(*(client.post(CHAT, json=body(model)) for model in endpoint.plans))
    assert {answer.status_code for answer in answers} == {500, 503}
    assert len(endpoint.requests) < 3 * FAILURES
