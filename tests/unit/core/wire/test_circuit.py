"""When a request is repeated, and an endpoint that only fails is left alone."""

from __future__ import annotations

from datetime import UTC, datetime

from support.cases import for_each
from support.clocks import SleepingClock

from trialbed.wire import RetryWaits, retry_after
from trialbed.wire.circuit import CircuitBreaker, CircuitOpen

NOW = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)


@for_each(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "Sun, 22 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 22 Nov 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Sun, 22 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "2"}, 2.0),
    ],
)
def test_seconds_dates_and_milliseconds_are_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


def longest(_low: float, high: float) -> float:
    return high


@for_each(
    ("number", "elapsed", "asked", "seconds"),
    [
        (1, 0, None, 0.5),
        (2, 0, None, 1.0),
        (5, 0, None, 8.0),
        (8, 0, None, 30.0),
        (9, 0, None, None),  # there are 8 retries
        (8, 90.5, None, None),  # there are 120 seconds
        (1, 0, 0.0, 0.5),  # asks for nothing
        (1, 0, 7.0, 7.5),
        (8, 0, 119.5, 120.0),
        (1, 1, 119.5, None),
        (1, 0, 3600.0, None),
    ],
)
def test_waits_double_unless_the_endpoint_asks_and_end_with_the_patience(
    number: int, elapsed: float, asked: float | None, seconds: float | None
) -> None:
    assert RetryWaits(draw=longest).wait(number, elapsed, asked) == seconds


def failed(breaker: CircuitBreaker, number: int) -> None:
    for _ in range(number):
        breaker.failed()


async def admits(breaker: CircuitBreaker, *, works: bool = False) -> bool:
    try:
        async with breaker.attempt():
            breaker.succeeded() if works else breaker.failed()
    except CircuitOpen:
        return False
    return True


async def test_it_opens_after_failures_in_a_row_and_lets_one_call_through_after_each_pause() -> None:
    clock = SleepingClock()
    breaker = CircuitBreaker(clock.monotonic, first=5.0)
    failed(breaker, 4)
    assert not breaker.is_open
    assert await admits(breaker)
    assert (breaker.is_open, breaker.pause, await admits(breaker)) == (True, 5.0, False)
    await clock.sleep(5)
    async with breaker.attempt():
        assert not await admits(breaker)
        breaker.failed()
    await clock.sleep(9)
    assert not await admits(breaker)
    await clock.sleep(1)
    assert await admits(breaker, works=True)
    assert (breaker.is_open, breaker.pause, await admits(breaker)) == (False, 0.0, True)


async def test_pauses_do_not_grow_beyond_the_longest() -> None:
    clock = SleepingClock()
    breaker, pauses = CircuitBreaker(clock.monotonic, first=5.0, longest=12.0), []
    failed(breaker, 5)
    for _ in range(4):
        pauses.append(breaker.pause)
        await clock.sleep(breaker.pause)
        assert await admits(breaker)
    assert pauses == [5, 10, 12, 12]
