"""Single flight: what many ask for at once is computed once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class SingleFlight(Generic[Result]):
    """Shares a computation among all who ask for its key while it goes on; keeps nothing afterwards."""

    def __init__(self) -> None:
        self._flights: dict[Hashable, asyncio.Task[Result]] = {}

    async def run(self, key: Hashable, work: Callable[[], Awaitable[Result]]) -> Result:
        """The result of the computation under this key; one that goes away does not end it for the others."""
        task = self._flights.get(key)
        if task is None:
            task = asyncio.ensure_future(self._fly(key, work))
            self._flights[key] = task
        return await asyncio.shield(task)

    async def close(self) -> None:
        """End what is being computed."""
        tasks = list(self._flights.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _fly(self, key: Hashable, work: Callable[[], Awaitable[Result]]) -> Result:
        try:
            return await work()
        finally:
            del self._flights[key]
