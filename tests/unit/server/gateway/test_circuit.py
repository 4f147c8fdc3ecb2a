"""The circuit breaker of an endpoint, and the causes of failures."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.cases import for_each
from support.clocks import SleepingClock

from trialbed.wire import TRANSIENT
from trialbed.wire.circuit import FAILURES
from trialbed.wire.dialects import dialect
from trialbed_server.gateway.circuit import (
    Circuit,
    EndpointDown,
    Liveness,
    blames_request,
    cause_of_problem,
    cause_of_status,
    lacks_model,
    repeats_a_broken_call,
)

ALONE = {
    "200 201 204": None,
    "0 301 307": "endpoint",
    "400 406 411 413 415 422 431 451": "request",
    "401 402 403 407": "endpoint",
    "404 405 410": "endpoint",
    "408 409 425 429": "endpoint",
    "500 501 502 503 504 520 524 529": "endpoint",
}
WHILE_OTHERS_ARE_ANSWERED = {
    "200 201 204": None,
    "0 301 307": "endpoint",
    "400 406 411 413 415 422 431 451": "request",
    "401 402 403 407": "endpoint",
    "404 405 410": "request",
    "408 409 425 429": "endpoint",
    "500 501 502 504 520 524": "request",
    "503 529": "endpoint",
}


@pytest.mark.parametrize(("others", "table"), [(False, ALONE), (True, WHILE_OTHERS_ARE_ANSWERED)])
def test_the_cause_follows_from_the_status(others: bool, table: dict[str, str | None]) -> None:
    for statuses, cause in table.items():
        for status in statuses.split():
            assert cause_of_status(int(status), others_answered=others) == cause, status


def test_every_status_has_a_cause() -> None:
    for status in [0, *range(300, 600)]:
        for others in (False, True):
            assert cause_of_status(status, others_answered=others) in ("request", "endpoint")
    assert {status for status in range(600) if blames_request(status)} == set(range(500, 600)) - {503, 529}
    assert {400, 401, 404, 422, 501, 505} & TRANSIENT == set()


@for_each(
    ("body", "lacks"),
    [
        (b'{"error": {"message": "The model `m` does not exist", "code": "model_not_found"}}', True),
        (b'{"error": {"code": 404, "message": "models/m is not found for API version v1beta"}}', True),
        (b'{"detail": "Not Found"}', False),
    ],
)
def test_a_refusal_may_say_that_the_model_is_missing(body: bytes, lacks: bool) -> None:
    assert lacks_model(body) == lacks


@for_each(
    ("kind", "code", "cause"),
    [
        ("html", None, "endpoint"),
        ("empty_body", None, "endpoint"),
        ("empty_stream", None, "endpoint"),
        ("error_body", None, "endpoint"),
        ("error_body", 429, "endpoint"),
        ("error_body", "502", "endpoint"),
        ("error_body", 400, "request"),
        ("error_event", "422", "request"),
        ("error_event", "server_error", "endpoint"),
        ("error_event", 200, "endpoint"),
        ("error_event", [400], "endpoint"),
        ("error_event", 10**30, "endpoint"),
        ("malformed_body", None, None),
        ("no_choices", None, None),
        ("null_message", None, None),
        ("no_finish_reason", None, None),
        ("no_done", None, None),
    ],
)
def test_an_answer_that_is_no_completion(kind: str, code: object, cause: str | None) -> None:
    assert cause_of_problem(kind, code) == cause


def conversation(*arguments: object) -> dict[str, Any]:
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": text}} for text in arguments]
    return {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "tool_calls": calls}]}


@for_each(
    ("document", "broken"),
    [
        (conversation('{"a": 1}'), False),
        (conversation(""), False),
        (conversation({"a": 1}), False),
        (conversation('{"a": 1}', '{"from": "Tirr'), True),
        ({"messages": [{"role": "assistant", "tool_calls": None}]}, False),
        ({"messages": 3}, False),
        ({"messages": [None]}, False),
        ({}, False),
    ],
)
def test_a_call_that_was_cut_is_seen_in_the_conversation(document: dict[str, Any], broken: bool) -> None:
    assert repeats_a_broken_call(dialect().read_request(document)) == broken


PATIENCE = 100.0


@pytest.fixture
def clock() -> SleepingClock:
    return SleepingClock()


@pytest.fixture
def circuit(clock: SleepingClock) -> Circuit:
    return Circuit(clock, PATIENCE)


def fail(circuit: Circuit, times: int = FAILURES, *, requests: int = 2, **more: bool) -> None:
    for number in range(times):
        circuit.refused(b"%d" % (number % requests), f"failure {number}", **more)


async def tried(circuit: Circuit, *, works: bool, patience: float = PATIENCE) -> list[None]:
    """Make an attempt; how often it waited."""
    waits: list[None] = []
    async with circuit.request(patience, lambda: waits.append(None)):
        if works:
            circuit.begins_to_answer()
            circuit.completed(answered=True)
        else:
            circuit.refused(b"probe", "the probe failed")
    return waits


@pytest.mark.parametrize("answered", [False, True])
async def test_it_opens_after_failures_in_a_row_of_different_requests(circuit: Circuit, answered: bool) -> None:
    fail(circuit, FAILURES - 1)
    assert circuit.state == "closed"
    circuit.completed(answered=answered)
    fail(circuit, FAILURES - 1)
    assert circuit.state == "closed"
    fail(circuit, 1)
    assert circuit.state == "open"


async def test_one_request_alone_does_not_open_it(circuit: Circuit) -> None:
    fail(circuit, 100, requests=1)
    assert circuit.state == "closed"
    assert await tried(circuit, works=True) == []


async def test_without_patience_it_never_opens(clock: SleepingClock) -> None:
    circuit = Circuit(clock, 0)
    fail(circuit, 100, requests=10)
    assert circuit.state == "closed"
    assert await tried(circuit, works=False, patience=0) == []


async def test_an_open_circuit_lets_a_probe_through_after_a_wait_and_closes_when_it_is_answered(
    circuit: Circuit, clock: SleepingClock
) -> None:
    fail(circuit)
    began = clock.time
    assert await tried(circuit, works=True) == [None]
    assert clock.time - began == 1.0
    assert (circuit.state, circuit.answered) == ("closed", 1)


async def test_the_waits_between_probes_double_until_the_endpoint_is_down(
    circuit: Circuit, clock: SleepingClock
) -> None:
    fail(circuit)
    began, probes = clock.time, []
    for _ in range(7):
        await tried(circuit, works=False)
        probes.append(clock.time - began)
    with pytest.raises(EndpointDown, match="the probe failed"):
        await tried(circuit, works=False)
    assert probes == [1, 3, 7, 15, 31, 61, 91]
    assert clock.time - began == PATIENCE
    assert circuit.state == "down"


async def test_an_endpoint_that_is_down_is_probed_now_and_then(circuit: Circuit, clock: SleepingClock) -> None:
    fail(circuit)
    clock.time += 10 * PATIENCE
    assert circuit.state == "down"
    await tried(circuit, works=False)
    with pytest.raises(EndpointDown):
        await tried(circuit, works=True)
    clock.time += 60
    await tried(circuit, works=True)
    assert circuit.state == "closed"


async def test_requests_wait_for_the_probe_that_is_on_its_way(circuit: Circuit, clock: SleepingClock) -> None:
    fail(circuit)
    clock.awake.clear()
    answer, order = asyncio.Event(), []

    async def probe() -> None:
        async with circuit.request(PATIENCE, lambda: None):
            order.append("probe")
            await answer.wait()
            circuit.begins_to_answer()
            order.append("begun")

    async def follow() -> None:
        async with circuit.request(PATIENCE, lambda: None):
            order.append("follower")

    clock.time += 2
    async with asyncio.TaskGroup() as group:
        group.create_task(probe())
        await asyncio.sleep(0)
        for _ in range(3):
            group.create_task(follow())
        await asyncio.sleep(0)
        assert order == ["probe"]
        answer.set()
    assert order == ["probe", "begun", "follower", "follower", "follower"]


async def test_a_request_waits_no_longer_than_it_can(circuit: Circuit, clock: SleepingClock) -> None:
    fail(circuit)
    await tried(circuit, works=False)
    began = clock.time
    with pytest.raises(EndpointDown):
        await tried(circuit, works=True, patience=0.25)
    assert clock.time - began == 0.25


async def test_an_answer_that_breaks_off_opens_it_again_without_more_patience(
    circuit: Circuit, clock: SleepingClock
) -> None:
    fail(circuit)
    clock.time += PATIENCE / 2
    circuit.begins_to_answer()
    assert circuit.state == "closed"
    circuit.refused(b"x", "cut")
    assert circuit.state == "open"
    clock.time += PATIENCE / 2
    assert circuit.state == "down"


async def test_waiting_for_a_refused_key_is_useless(circuit: Circuit) -> None:
    fail(circuit, useless=True)
    assert circuit.state == "down"


async def test_what_the_endpoint_asks_for_delays_the_probe(circuit: Circuit, clock: SleepingClock) -> None:
    fail(circuit, FAILURES - 1)
    circuit.refused(b"1", "busy", asked=20.0)
    began = clock.time
    await tried(circuit, works=True)
    assert clock.time - began == 20.0


def test_silence_is_longer_than_any_answer_took(clock: SleepingClock) -> None:
    liveness = Liveness(clock)
    clock.time += 1
    assert liveness.silent_since(clock.time - 1)  # it never answered
    liveness.began(clock.time - 10)
    asked = clock.time + 1
    clock.time += 15
    assert not liveness.silent_since(asked)
    clock.time += 7
    assert liveness.silent_since(asked)
    liveness.began(clock.time - 1)
    assert not liveness.silent_since(asked)
