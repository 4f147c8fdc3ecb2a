"""When an endpoint last began to answer anybody."""

from __future__ import annotations

from trialbed_server._clock import Clock

SLOWER = 2.0
"""How many times longer than its slowest answer an endpoint can be silent before that says something."""


class Liveness:
    """Tells a request that is just being answered from one at an endpoint that no longer answers."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = float("-inf")
        self._slowest = 0.0

    def began(self, asked: float) -> None:
        """A request that was sent at this time begins to be answered now."""
        self._last = self._clock.monotonic()
        self._slowest = max(self._slowest, self._last - asked)

    def silent_since(self, asked: float) -> bool:
        """Whether the endpoint has answered no request since, for longer than it ever took to begin an answer."""
        return self._last <= asked and self._clock.monotonic() - asked > SLOWER * self._slowest
