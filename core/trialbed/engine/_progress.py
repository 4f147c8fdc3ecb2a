"""What follows a run while it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from trialbed.records import Run, TrialResult

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
