"""What many ask for at once is computed once."""

from __future__ import annotations

import asyncio

import pytest

from trialbed_server.virtual.resolver import SingleFlight


async def test_one_computation_serves_all_who_wait_and_is_then_forgotten() -> None:
    flights: SingleFlight[int] = SingleFlight()
    started, gate = [], asyncio.Event()

    async def work() -> int:
        started.append(1)
        await gate.wait()
        return len(started)

    waiters = [asyncio.ensure_future(flights.run("key", work)) for _ in range(10)]
    await asyncio.sleep(0)
    gate.set()
    assert await asyncio.gather(*waiters) == [1] * 10
    assert await flights.run("key", work) == 2


async def test_one_that_goes_away_does_not_end_it_for_the_others() -> None:
    flights: SingleFlight[str] = SingleFlight()
    gate = asyncio.Event()

    async def work() -> str:
        await gate.wait()
        return "done"

    first, second = (asyncio.ensure_future(flights.run("key", work)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    gate.set()
    assert await second == "done"


async def test_a_failure_reaches_everyone_and_is_not_kept() -> None:
    flights: SingleFlight[str] = SingleFlight()
    outcomes = iter([ValueError("first")])

    async def work() -> str:
        await asyncio.sleep(0)
        for error in outcomes:
            raise error
        return "second"

    results = await asyncio.gather(*(flights.run("key", work) for _ in range(3)), return_exceptions=True)
    assert [str(result) for result in results] == ["first"] * 3
    assert await flights.run("key", work) == "second"


async def test_closing_ends_what_is_under_way() -> None:
    flights: SingleFlight[None] = SingleFlight()
    waiter = asyncio.ensure_future(flights.run("key", asyncio.Event().wait))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    await flights.close()
    with pytest.raises(asyncio.CancelledError):
        await waiter
