from __future__ import annotations

import asyncio
import time

from trialbed_verify.verification._event_loop import LagMeter, take_turn


async def test_pieces_of_work_are_done_one_by_one_with_a_look_at_the_network_between() -> None:
    turns, done = asyncio.Lock(), list[str]()

    async def work(name: str) -> None:
        await take_turn(turns)
        done.append(name)

    async def network() -> None:
        for _ in range(3):
            await asyncio.sleep(0)
            done.append("look")

    await asyncio.gather(*(work(name) for name in "abcdef"), network())
    first, last = done.index("a"), done.index("f")
    assert [name for name in done if name != "look"] == list("abcdef")
    assert "look" in done[first:last]


async def test_a_loop_that_was_held_up_is_seen_where_it_was() -> None:
    lag, clock = LagMeter(), asyncio.get_running_loop().time
    watching = asyncio.create_task(lag.watch())
    await asyncio.sleep(0.02)
    begun = clock()
    time.sleep(0.2)  # noqa: ASYNC251 - holding the loop up is the point
    await asyncio.sleep(0.02)
    assert lag.since(begun) > 0.1
    assert lag.since(clock() + 5) == 0.0
    watching.cancel()
