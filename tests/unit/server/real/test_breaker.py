"""An endpoint that only fails is left alone."""

from __future__ import annotations

from support.clocks import SleepingClock

from trialbed_server.real import Breaker


def failed(breaker: Breaker, number: int) -> None:
    for _ in range(number):
        breaker.failed()


async def test_it_opens_after_failures_in_a_row_and_lets_one_call_through_after_each_pause() -> None:
    clock = SleepingClock()
    breaker = Breaker(clock)
    failed(breaker, 4)
    assert breaker.admits()
    failed(breaker, 1)
    assert (breaker.is_open, breaker.admits()) == (True, False)
    await clock.sleep(5)
    assert [breaker.admits(), breaker.admits()] == [True, False]
    breaker.failed()
    await clock.sleep(9)
    assert not breaker.admits()
    await clock.sleep(1)
    assert breaker.admits()
    breaker.succeeded()
    assert (breaker.is_open, breaker.admits(), breaker.admits()) == (False, True, True)


def test_failures_between_successes_do_not_add_up() -> None:
    breaker = Breaker(SleepingClock())
    for _ in range(3):
        failed(breaker, 4)
        breaker.succeeded()
    assert not breaker.is_open
