from __future__ import annotations

import asyncio
import time

from trialbed_verify.verification._lag import LagMeter


async def test_a_loop_that_was_held_up_is_seen_where_it_was() -> None:
    async with LagMeter() as lag:
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(0.02)
        begun = clock()
        time.sleep(0.2)  # noqa: ASYNC251 - holding the loop up is the point
        await asyncio.sleep(0.02)
        assert 0.1 < lag.since(begun) < 5
        assert lag.since(clock() + 5) == 0.0


async def test_where_nothing_was_noted_there_is_no_lag() -> None:
    async with LagMeter() as lag:
        assert lag.since(asyncio.get_running_loop().time()) == 0.0
