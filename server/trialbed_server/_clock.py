"""The clock, which tests can replace."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The server's source of time."""

    def monotonic(self) -> float:
        """Return the seconds on a clock that never goes back."""

    def utcnow(self) -> datetime:
        """Return the date and time, with a time zone."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's own time."""

    def monotonic(self) -> float:
        """Return the seconds on a clock that never goes back."""
        return time.monotonic()

    def utcnow(self) -> datetime:
        """Return the date and time in UTC."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
