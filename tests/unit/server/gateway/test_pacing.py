"""The pace of requests to an endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count

import pytest
from support.clocks import SleepingClock

from trialbed_server.gateway.pacing import Pace, PacedTurn


@pytest.fixture
def clock() -> SleepingClock:
    return SleepingClock()


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


async def test_a_request_within_the_turn_of_another_goes_before_all_that_wait(clock: SleepingClock) -> None:
    endpoint = Endpoint(clock, Pace(clock, requests=1))
    await endpoint.ask()
    clock.awake.clear()
    waiting = asyncio.create_task(endpoint.ask_together(2))
    for _ in range(5):
        await asyncio.sleep(0)
    passing = asyncio.create_task(endpoint.pace.pass_by(1))
    passing.add_done_callback(lambda _: endpoint.times.append(-clock.time))
    for _ in range(5):
        await asyncio.sleep(0)
    clock.awake.set()
    await asyncio.wait([waiting, passing])
    assert [time < 0 for time in endpoint.times] == [False, True, False, False]
    assert most_in_a_minute([abs(time) for time in endpoint.times]) == 1
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


async def test_what_was_refused_took_no_tokens_but_was_a_request(clock: SleepingClock) -> None:
    endpoint = Endpoint(clock, Pace(clock, requests=2, tokens=1000))
    await endpoint.ask(900, status=400)
    await endpoint.ask(900)
    assert endpoint.times == [1000, 1000]
    await endpoint.ask(10)
    assert endpoint.times[-1] == 1060


async def test_any_number_are_on_their_way_until_the_endpoint_refuses_one_for_want_of_capacity(
    clock: SleepingClock,
) -> None:
    endpoint = Endpoint(clock, Pace(clock))
    await endpoint.ask_together(50)
    assert (endpoint.most, endpoint.waits, endpoint.pace.limit) == (50, 0, None)
    await endpoint.ask_together(8, status=400)
    assert endpoint.pace.limit is None


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


async def test_answers_raise_the_limit_by_one_for_as_many_as_it_allows(clock: SleepingClock) -> None:
    endpoint = Endpoint(clock, Pace(clock))
    await endpoint.ask_together(8, status=429)
    endpoint.most = 0
    await endpoint.ask_together(4)
    assert endpoint.most == 4
    await endpoint.ask_together(40)
    assert 5 <= endpoint.most <= 10
    grown = endpoint.pace.limit
    for _ in range(100):
        await endpoint.ask()
    assert endpoint.pace.limit == grown, "what is not used says nothing of what the endpoint bears"


async def test_all_requests_wait_as_long_as_one_is_asked_to(clock: SleepingClock) -> None:
    endpoint = Endpoint(clock, Pace(clock, patience=120))
    await endpoint.ask(status=429, asked=20)
    await endpoint.ask()
    assert endpoint.times == [1000, 1020]
    await endpoint.ask(status=429, asked=3600)
    await endpoint.ask()
    assert endpoint.times[-1] == 1020, "the endpoint asks for more than the patience"


async def test_a_gateway_that_leaves_failures_to_frameworks_holds_nothing_back(clock: SleepingClock) -> None:
    endpoint = Endpoint(clock, Pace(clock, patience=0))
    await endpoint.ask_together(8, status=429)
    await endpoint.ask(status=429, asked=20)
    await endpoint.ask_together(8)
    assert (endpoint.most, endpoint.waits) == (8, 0)


async def test_one_that_stops_waiting_lets_the_next_one_go(clock: SleepingClock) -> None:
    endpoint = Endpoint(clock, Pace(clock))
    await endpoint.ask_together(2, status=429)
    clock.awake.clear()
    holder = asyncio.create_task(endpoint.ask(lasts=5))
    gone = asyncio.create_task(endpoint.ask())
    last = asyncio.create_task(endpoint.ask())
    for _ in range(5):
        await asyncio.sleep(0)
    assert endpoint.pace.in_line == 2
    gone.cancel()
    clock.awake.set()
    await asyncio.wait([holder, gone, last])
    assert last.result().held == 5
    assert endpoint.pace.in_line == 0
