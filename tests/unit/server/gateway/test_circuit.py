"""The circuit breaker."""

from __future__ import annotations

import asyncio

import pytest
from support.clocks import SleepingClock

from trialbed.wire.circuit import FAILURES
from trialbed_server.gateway.circuit import Circuit, EndpointDown, Liveness

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
