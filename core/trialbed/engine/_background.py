"""Work that goes on while a body runs, contexts that outlive it, and the search for garbage, which stops."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

MADE = 5_000
"""New objects before the garbage collector runs; some failed trials make this many."""


class Standing(AsyncExitStack):
    """The store, the server, the models and the workers that several runs of one event loop use in turn; it ends them.

    A run that is not given one has its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[Hashable, Any] = {}

    async def use(self, key: Hashable, make: Callable[[], AbstractAsyncContextManager[T]]) -> T:
        """Return what stands under a key, which is entered first if nothing does."""
        if key not in self._open:
            self._open[key] = await self.enter_async_context(make())
        found: T = self._open[key]
        return found


@asynccontextmanager
async def meanwhile(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """Do this work as a task, which is cancelled when the body ends."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


@contextmanager
def frozen_heap() -> Iterator[None]:
    """Leave all objects of now out of the search for garbage, which takes longer than a short trial.

    It is also made more seldom: trials that end well leave nothing that only a search would find.
    """
    if gc.get_freeze_count():  # by the calling program, which knows best when to end that
        yield
        return
    first, *others = thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(max(first, MADE) if first else 0, *others)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
