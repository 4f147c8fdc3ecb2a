from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from support.cases import for_each

from trialbed.wire import Outcome, Problem, Reading
from trialbed.wire.circuit import CircuitOpen
from trialbed_verify.verification import _retries
from trialbed_verify.verification._retries import VendorCircuit, VendorDown, is_transient, retry_waits
from trialbed_verify.verification.exchange import EndpointAttempt


def attempt(
    outcome: Outcome = "transport_error", status: int | None = None, wait: float | None = None
) -> EndpointAttempt:
    return EndpointAttempt(datetime.now(UTC), 0.0, status, None, 0.1, Reading(outcome), wait)


@for_each("status", [None, 408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_again_with_growing_pauses(status: int | None) -> None:
    assert is_transient(attempt(status=status))
    waits = [retry_waits(5).wait(number, 0.0, None) for number in (1, 3, 5)]
    assert 0 < waits[0] < waits[1] < waits[2] < 20  # type: ignore[operator]


@for_each("status", [400, 401, 402, 403, 404, 422])
def test_a_refusal_is_final(status: int) -> None:
    assert not is_transient(attempt(status=status))


@for_each("outcome", ["stop", "tool_calls", "other", "protocol_error"])
def test_an_answer_is_never_asked_for_twice_however_bad(outcome: Outcome) -> None:
    assert not is_transient(attempt(outcome, 200))
    assert is_transient(attempt("timeout"))


def test_it_ends_after_so_many_retries_or_after_an_hour() -> None:
    assert retry_waits(2).wait(3, 0.0, None) is None
    assert retry_waits(2).wait(1, 3599.9, None) is None
    assert retry_waits(2).wait(1, 3590.0, None) is not None


def test_what_the_endpoint_asks_for_is_waited_unless_it_is_beyond_reason() -> None:
    assert 7 <= retry_waits(3).wait(1, 0.0, 7) <= 7.5  # type: ignore[operator]
    assert retry_waits(3).wait(1, 0.0, 121) is None
    assert retry_waits(3).wait(1, 0.0, 0.0) > 0.1  # type: ignore[operator]


def test_an_account_without_credit_is_asked_no_more() -> None:
    said = Problem("http_429", 'the endpoint answered with status 429: {"error": {"code": "insufficient_quota"}}')
    refused = EndpointAttempt(datetime.now(UTC), 0.0, 429, None, 0.1, Reading("transport_error", problem=said), None)
    assert not is_transient(refused)
    breaker = VendorCircuit()
    breaker.record(attempt("stop", 200))
    breaker.record(refused)
    assert breaker.is_down


async def test_a_breaker_lets_one_probe_through_at_a_time_and_closes_on_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_retries, "PROBE_DELAY", 0.0)
    breaker, inside, most = VendorCircuit(threshold=2), 0, 0
    for _ in range(2):
        breaker.record(attempt())

    async def request() -> None:
        nonlocal inside, most
        async with breaker.guard():
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(request() for _ in range(5)))
    assert most == 1
    breaker.record(attempt("protocol_error"))
    assert not breaker.is_open


async def test_a_vendor_is_down_when_its_probes_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_retries, "PROBE_DELAY", 0.0)
    breaker = VendorCircuit(threshold=2, probes=3)
    for _ in range(5):
        async with breaker.guard():
            breaker.record(attempt("timeout"))
    with pytest.raises(VendorDown):
        async with breaker.guard():
            raise AssertionError("a request was let through")


async def test_attempts_under_way_when_it_opens_are_no_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_retries, "PROBE_DELAY", 0.0)
    breaker = VendorCircuit(threshold=2, probes=2)
    for _ in range(200):
        breaker.record(attempt(status=503))
    async with breaker.guard():
        breaker.record(attempt(status=503))
    async with breaker.guard():
        breaker.record(attempt("stop"))
    assert not breaker.is_open


async def test_who_waited_for_a_probe_that_is_answered_waits_for_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_retries, "PROBE_DELAY", 0.0)
    breaker, entered = VendorCircuit(threshold=1), asyncio.Barrier(3)
    breaker.record(attempt(status=503))

    async def request() -> None:
        async with breaker.guard():
            await entered.wait()

    async with asyncio.timeout(60), asyncio.TaskGroup() as group, breaker.guard():
        for _ in range(3):
            group.create_task(request())
        await asyncio.sleep(0)
        breaker.record(attempt("stop"))


def failed(kind: str, status: int | None = None) -> EndpointAttempt:
    reading = Reading("transport_error", problem=Problem(kind, "no"))
    return EndpointAttempt(datetime.now(UTC), 0.0, status, None, 0.1, reading)


@pytest.mark.parametrize(
    ("kind", "status"), [("connect", None), ("http_401", 401), ("http_404", 404), ("http_307", 307)]
)
async def test_where_nobody_ever_answered_and_none_will_it_is_not_probed(kind: str, status: int | None) -> None:
    breaker = VendorCircuit(threshold=2)
    for _ in range(2):
        breaker.record(failed(kind, status))
    with pytest.raises(VendorDown):
        async with breaker.guard():
            raise AssertionError("a request was let through")


@pytest.mark.parametrize(("kind", "status"), [("reset", None), ("http_503", 503), ("http_400", 400)])
async def test_where_there_is_hope_it_is_probed(kind: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_retries, "PROBE_DELAY", 0.0)
    breaker = VendorCircuit(threshold=2)
    for _ in range(2):
        breaker.record(failed(kind, status))
    async with breaker.guard():
        breaker.record(attempt("stop", 200))
    assert not breaker.is_open


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_who_has_better_to_do_is_told_how_long_a_vendor_is_left_alone() -> None:
    clock = Clock()
    breaker, pauses = VendorCircuit(threshold=2, probes=3, blocking=False, clock=clock), []
    for _ in range(2):
        async with breaker.guard():
            assert breaker.pause == 0
            breaker.record(attempt())
    for _ in range(3):
        pauses.append(breaker.pause)
        clock.now += breaker.pause - 0.25
        assert breaker.pause == 0.25
        with pytest.raises(CircuitOpen):
            async with breaker.guard():
                raise AssertionError("a request was let through")
        clock.now += 0.25
        async with breaker.guard():
            breaker.record(attempt())
    assert pauses == [1, 2, 4]
    assert (breaker.is_down, breaker.pause) == (True, 0)
    with pytest.raises(VendorDown):
        async with breaker.guard():
            raise AssertionError("a request was let through")


@for_each("status", [400, 413, 422])
def test_refused_requests_do_not_put_a_vendor_in_doubt_that_answers_others(status: int) -> None:
    breaker = VendorCircuit(threshold=2)
    breaker.record(attempt("stop", 200))
    for _ in range(50):
        breaker.record(failed(f"http_{status}", status))
    assert not breaker.is_open
