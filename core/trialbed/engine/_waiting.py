"""Says what a run waits for while its endpoint only fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from trialbed.errors import TrialbedError
from trialbed.records import EndpointStatus

INTERVAL = 5.0
"""Seconds between looks at the endpoint."""


class EndpointWatch:
    """Looks at the models' endpoint now and then.

    Args:
        endpoint: gives its status.
        say: is given a line while requests wait and none is answered: at the second look that finds it so, then after
            twice as many each time.
        pause: sleeps.
    """

    def __init__(
        self,
        endpoint: Callable[[], Awaitable[EndpointStatus]],
        say: Callable[[str], None],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._endpoint = endpoint
        self._say = say
        self._pause = pause
        self._answered = -1
        self._stuck = 0
        self._due = 1

    async def watch(self) -> None:
        """Look until cancelled; a server that does not answer is reported by the trials."""
        while True:
            await self._pause(INTERVAL)
            with suppress(TrialbedError):
                self._look(await self._endpoint())

    def _look(self, status: EndpointStatus) -> None:
        waits = status.waiting > 0 or status.state != "closed"
        self._stuck = self._stuck + 1 if waits and status.answered == self._answered else 0
        self._answered = status.answered
        if self._stuck >= self._due:
            self._say(_line(status))
            self._stuck, self._due = 0, 2 * self._due


def _line(status: EndpointStatus) -> str:
    requests = "1 request waits" if status.waiting == 1 else f"{status.waiting} requests wait"
    state = {"open": ", and others are held back", "down": ", and others fail at once"}.get(status.state, "")
    return f"waiting for the model's endpoint: {requests} to be repeated{state}; the last failure: {status.reason}"
