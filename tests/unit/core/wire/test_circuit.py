"""An endpoint that only fails is left alone."""

from __future__ import annotations

import pytest
from support.clocks import SleepingClock

from trialbed.wire.circuit import CircuitBreaker, CircuitOpen


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


async def test_a_probe_that_is_given_up_makes_way_for_the_next() -> None:
    clock = SleepingClock()
    breaker = CircuitBreaker(clock.monotonic)
    failed(breaker, 5)
    await clock.sleep(1)
    with pytest.raises(RuntimeError):
        async with breaker.attempt():
            raise RuntimeError("the caller breaks")
    await clock.sleep(2)
    assert await admits(breaker)


async def test_pauses_do_not_grow_beyond_the_longest() -> None:
    clock = SleepingClock()
    breaker, pauses = CircuitBreaker(clock.monotonic, first=5.0, longest=12.0), []
    failed(breaker, 5)
    for _ in range(4):
        pauses.append(breaker.pause)
        await clock.sleep(breaker.pause)
        assert await admits(breaker)
    assert pauses == [5, 10, 12, 12]


def test_failures_between_successes_do_not_add_up() -> None:
    breaker = CircuitBreaker(SleepingClock().monotonic)
    for _ in range(3):
        failed(breaker, 4)
        breaker.succeeded()
    assert not breaker.is_open
