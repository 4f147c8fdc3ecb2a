"""An event loop whose time can be let pass, so that a client's patience is tried without waiting."""

from __future__ import annotations

import asyncio


class PassingLoop(asyncio.SelectorEventLoop):
    """The usual loop, whose clock can be put forward: timers that are due by then fire in its next turn."""

    def __init__(self) -> None:
        self._passed = 0.0
        super().__init__()

    def time(self) -> float:
        """Return the loop's own time in seconds: the system's, and all that was let pass."""
        return super().time() + self._passed

    def pass_time(self, seconds: float) -> None:
        """Let this many seconds pass at once; called on the loop."""
        self._passed += seconds
