"""What is shared, goes on and is shown while a run lasts."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Hashable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any, TypeVar

from trialbed.records import Run, TrialResult

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


LONG = 5.0
"""Seconds after which a phase of a run names itself."""

Found = TypeVar("Found")


class RunProgress:
    """Follows a run and shows nothing; subclasses override what they show. Every method returns quickly."""

    def begin(self, run: Run, *, total: int, done: int) -> None:
        """A run begins, or is resumed with ``done`` of its ``total`` trials kept."""

    def advance(self, result: TrialResult) -> None:
        """A trial has ended and is committed."""

    def again(self, count: int) -> None:
        """Trials that ended without a measurement, ``count`` of them, are attempted again."""

    def goes_on(self) -> None:
        """Trials are under way; this is called every few seconds."""

    def end(self) -> None:
        """No more trials end."""

    def note(self, text: str) -> None:
        """Something that the user should know, before the run begins or while it waits."""


async def say_when_long(say: Callable[[str], None], text: str, work: Awaitable[Found], seconds: float = LONG) -> Found:
    """Wait for a phase of a run, and say its name when it takes long."""
    said = asyncio.get_running_loop().call_later(seconds, say, text)
    try:
        return await work
    finally:
        said.cancel()
