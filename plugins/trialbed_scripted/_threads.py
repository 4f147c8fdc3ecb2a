"""An event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class ThreadLoop:
    """Runs coroutines on an event loop that no other code can block.

    Attributes:
        loop: the event loop.
    """

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    @property
    def runs(self) -> bool:
        """Return whether the loop has not ended."""
        return self._thread.is_alive()

    def run(self, work: Coroutine[Any, Any, Result], timeout: float | None = None) -> Result:
        """Run a coroutine, and return its result.

        Raises:
            TimeoutError: it has not ended within so many seconds.
        """
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout)

    def close(self) -> None:
        """End the loop, and what still runs on it."""
        if self.runs:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.get_loop().run_forever()
