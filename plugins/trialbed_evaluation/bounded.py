"""Does something for each of many items, of which a few are held at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def for_each(items: Iterable[T], do: Callable[[int, T], Awaitable[None]], *, most: int) -> None:
    """Do something for each item and its place; each is asked for, in a thread, when its turn comes.

    Args:
        most: the items for which it is done at a time.

    Raises:
        Exception: the first that it raises; work under way is cancelled, and has ended by then.
    """
    slots = asyncio.Semaphore(most)
    left = enumerate(items)

    async def one(place: int, item: T) -> None:
        try:
            await do(place, item)
        finally:
            slots.release()

    try:
        async with asyncio.TaskGroup() as group:
            while (found := await asyncio.to_thread(next, left, None)) is not None:
                await slots.acquire()
                group.create_task(one(*found))
                del found
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
