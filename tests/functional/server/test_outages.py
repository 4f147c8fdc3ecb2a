"""The gateway's circuit breaker, its pace, and refusals that a request brought on itself."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from support.clocks import SleepingClock
from support.planned import CHAT, Endpoint, body, opened, says, status
from support.servers import TRIAL, Serve, closed, until
from support.wire import ANSWER

from trialbed.records import WireLog
from trialbed.wire.circuit import FAILURES
from trialbed.wire_log import compute_timing


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
