"""When requests are sent to an endpoint, and the causes of failures."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from support.cases import for_each
from support.clocks import SleepingClock

from trialbed.wire.circuit import FAILURES
from trialbed.wire.dialects import dialect
from trialbed_server.gateway.circuit import (
    Circuit,
    EndpointDown,
    Liveness,
    Pace,
    PacedTurn,
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


class Endpoint:
    """Sends requests at a pace, and keeps the time of each."""

    def __init__(self, clock: SleepingClock, pace: Pace) -> None:
        self.clock, self.pace = clock, pace
        self.times: list[float] = []
        self.order: list[int] = []
        self.waits = 0
        self.most = self._now = 0
        self._arrivals: Iterator[int] = count(1)

    async def ask(
        self,
        tokens: float = 1.0,
        *,
        used: int | None = None,
        status: int = 200,
        asked: float | None = None,
        lasts: float = 0.0,
    ) -> PacedTurn:
        """Send one request, which ends after so many seconds."""
        arrival = next(self._arrivals)
        async with self.pace.turn(arrival, tokens, self._wait) as turn:
            self.times.append(self.clock.time)
            self.order.append(arrival)
            self._now += 1
            self.most = max(self.most, self._now)
            await asyncio.sleep(0)
            if lasts:
                await self.clock.sleep(lasts)
            self._now -= 1
            if status == 200:
                self.pace.note_answer()
                self.pace.set_tokens(turn, int(tokens) if used is None else used)
            else:
                self.pace.note_refusal(turn, status, asked)
            return turn

    async def ask_together(self, number: int, **more: int) -> None:
        """Send so many at once; ``more`` as ``ask`` takes it."""
        async with asyncio.TaskGroup() as group:
            for _ in range(number):
                group.create_task(self.ask(**more))

    def _wait(self) -> None:
        self.waits += 1


def most_in_a_minute(times: list[float], amounts: list[float] | None = None) -> float:
    weights = amounts or [1.0] * len(times)
    return max(
        sum(weight for other, weight in zip(times, weights, strict=True) if start <= other < start + 60)
        for start in times
    )


async def test_no_minute_has_more_requests_than_are_allowed_and_none_is_wasted(clock: SleepingClock) -> None:
    endpoint = Endpoint(clock, Pace(clock, requests=3))
    for _ in range(10):
        await endpoint.ask()
        clock.time += 7
    assert most_in_a_minute(endpoint.times) == 3
    assert endpoint.times[9] - endpoint.times[0] < 200


async def test_requests_that_come_together_wait_in_their_order(clock: SleepingClock) -> None:
    endpoint = Endpoint(clock, Pace(clock, requests=2))
    await endpoint.ask_together(6)
    assert endpoint.order == [1, 2, 3, 4, 5, 6]
    assert [time - 1000 for time in endpoint.times] == [0, 0, 60, 60, 120, 120]
    assert endpoint.waits >= 4
    assert endpoint.pace.in_line == 0


async def test_tokens_count_as_the_answer_says(clock: SleepingClock) -> None:
    endpoint = Endpoint(clock, Pace(clock, tokens=1000))
    await endpoint.ask(100, used=900)
    await endpoint.ask(100, used=100)
    await endpoint.ask(100, used=100)
    assert [time - 1000 for time in endpoint.times] == [0, 0, 60]


async def test_a_request_larger_than_the_limit_of_a_minute_has_one_for_itself(clock: SleepingClock) -> None:
    endpoint = Endpoint(clock, Pace(clock, tokens=1000))
    await endpoint.ask(10)
    await endpoint.ask(5000)
    await endpoint.ask(10)
    assert [time - 1000 for time in endpoint.times] == [0, 60, 120]


@pytest.mark.parametrize("status", [429, 503, 529])
async def test_a_refusal_halves_what_is_on_its_way_once_for_all_that_was_sent_before(
    clock: SleepingClock, status: int
) -> None:
    endpoint = Endpoint(clock, Pace(clock))
    await endpoint.ask_together(8, status=status)
    assert endpoint.pace.limit == 4
    endpoint.most = 0
    await endpoint.ask_together(20)
    assert endpoint.most >= 4
    await endpoint.ask_together(1, status=status)
    assert endpoint.pace.limit == 1


async def test_all_requests_wait_as_long_as_one_is_asked_to(clock: SleepingClock) -> None:
    endpoint = Endpoint(clock, Pace(clock, patience=120))
    await endpoint.ask(status=429, asked=20)
    await endpoint.ask()
    assert endpoint.times == [1000, 1020]
    await endpoint.ask(status=429, asked=3600)
    await endpoint.ask()
    assert endpoint.times[-1] == 1020, "the endpoint asks for more than the patience"
