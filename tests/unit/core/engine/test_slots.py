from __future__ import annotations

import asyncio

import pytest

from trialbed.engine._slots import NoNodeLeft, Slots


class Working:
    """Agents that work until they are told to end."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self.now: set[int] = set()
        self.ends: dict[int, asyncio.Event] = {}

    async def work(self, number: int) -> None:
        self.ends[number] = asyncio.Event()
        async with self._slots:
            self.now.add(number)
            try:
                await self.ends[number].wait()
            finally:
                self.now.remove(number)


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_the_number_of_slots_may_change_while_agents_work() -> None:
    slots = Slots(1)
    agents = Working(slots)
    tasks = [asyncio.create_task(agents.work(number)) for number in range(5)]
    await turns()
    assert agents.now == {0}
    slots.most = 3
    await turns()
    assert agents.now == {0, 1, 2}
    slots.most = 1
    agents.ends[0].set()
    agents.ends[1].set()
    await turns()
    assert agents.now == {2}, "nobody is sent away, and nobody is let in before there is room"
    agents.ends[2].set()
    await turns()
    assert agents.now == {3}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_one_that_is_cancelled_gives_its_slot_to_the_next() -> None:
    slots = Slots(1)
    agents = Working(slots)
    first, second, third = [asyncio.create_task(agents.work(number)) for number in range(3)]
    await turns()
    agents.ends[0].set()
    second.cancel()
    await turns()
    assert agents.now == {2}
    agents.ends[2].set()
    await asyncio.wait([first, third])
    # One that is let in at the moment at which it is cancelled.
    slots.most = 0
    fourth, fifth = [asyncio.create_task(agents.work(number)) for number in (4, 5)]
    await turns()
    slots.most = 1
    fourth.cancel()
    await turns()
    assert agents.now == {5}
    agents.ends[5].set()
    await fifth


async def test_none_begins_once_there_will_be_no_more_slots() -> None:
    slots = Slots(0)
    agents = Working(slots)
    waiting = asyncio.create_task(agents.work(0))
    await turns()
    slots.close("no node is left")
    with pytest.raises(NoNodeLeft, match="no node is left"):
        await waiting
    with pytest.raises(NoNodeLeft, match="no node is left"):
        await agents.work(1)
