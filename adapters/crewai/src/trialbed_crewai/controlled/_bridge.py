"""Lets CrewAI's threads run coroutines on the trial's event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from anyio.from_thread import BlockingPortal

Result = TypeVar("Result")


class LoopBridge:
    """Runs coroutines on the trial's event loop for threads, which wait for them.

    CrewAI calls models and tools in threads, which cannot be stopped. What they wait for runs on the loop instead, so
    that it ends with the trial, and the threads with it.
    """

    def __init__(self) -> None:
        self._portal: BlockingPortal | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Use the running loop; at the end cancel what still runs, and refuse further calls."""
        failure: Exception | None = None
        async with BlockingPortal() as self._portal:
            try:
                yield
            except Exception as error:  # noqa: BLE001 - raised below: the portal would put it into an exception group
                failure = error
            finally:
                await self._portal.stop(cancel_remaining=True)
        if failure is not None:
            raise failure

    def call(self, function: Callable[..., Awaitable[Result]], *args: Any) -> Result:
        """Run an async function on the loop and wait for its result; not to be called on the loop.

        Raises:
            RuntimeError: the trial is over, or has not begun.
            concurrent.futures.CancelledError: the trial ended before the function did.
        """
        if self._portal is None:
            raise RuntimeError("the trial has not started")
        return self._portal.call(function, *args)
