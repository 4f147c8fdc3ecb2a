"""What many ask for at once is computed once; the nearest inputs to one that is not cached."""

from __future__ import annotations

import asyncio

import pytest

from trialbed_server.virtual.resolver import LIKELY, SingleFlight, nearest_inputs


def test_the_nearest_inputs_are_named_best_first() -> None:
    inputs = [f'{{"city":"{name}"}}' for name in ("Rome", "Oslo", "Ooslo", "Lima")]
    assert nearest_inputs('{"city":"Osl"}', inputs) == [inputs[1], inputs[2], inputs[0]]
    assert nearest_inputs("{}", []) == []


def test_the_nearest_of_many_long_inputs_are_found_by_their_beginnings() -> None:
    inputs = [f'{{"n":{number},"text":"{"x" * 100_000}"}}' for number in range(2 * LIKELY)]
    assert nearest_inputs(inputs[7], inputs)[0] == inputs[7]


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
