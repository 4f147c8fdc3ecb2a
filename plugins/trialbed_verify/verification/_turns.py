"""Whose turn it is, where there are more targets than places."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from trialbed_verify.verification._work import VendorWork


async def take_turns(works: Iterable[VendorWork], places: int, turn: Callable[[VendorWork], Awaitable[None]]) -> None:
    """Let each have turns until it has nothing left to do, so many of them at a time.

    Who has waited longest is next. A place is given away after every turn, so that a work whose vendor is to be left
    alone rests without one, and lines up again afterwards.

    Args:
        turn: what one does with its place.
    """
    free = asyncio.Semaphore(places)  # It is fair: first come, first served.

    async def take_part(work: VendorWork) -> None:
        while work.left and not work.down:
            async with free:
                await turn(work)
            await work.rest()

    async with asyncio.TaskGroup() as group:
        for work in works:
            group.create_task(take_part(work))
