"""Rate limits on the requests of a client."""

from __future__ import annotations

import math
from collections.abc import Callable

MAX_CLIENTS = 10_000
"""Clients that are remembered; with more, those that have not asked for longest are forgotten."""


class RateLimit:
    """A bucket of tokens for each client: so many requests at once, and as many again each second.

    Args:
        rate: requests per second.
        now: seconds that only ever grow.
    """

    def __init__(self, rate: float, now: Callable[[], float]) -> None:
        self._rate = rate
        self._burst = max(1.0, rate)
        self._now = now
        self._clients: dict[str, tuple[float, float]] = {}

    def wait(self, client: str) -> int:
        """Take a token for a request of this client; 0, or the seconds after which there is one again."""
        now = self._now()
        tokens, since = self._clients.pop(client, (self._burst, now))
        tokens = min(self._burst, tokens + (now - since) * self._rate)
        admitted = tokens >= 1
        # Last in the order of use.
        self._clients[client] = (tokens - admitted, now)
        if len(self._clients) > MAX_CLIENTS:
            del self._clients[next(iter(self._clients))]
        return 0 if admitted else math.ceil((1 - tokens) / self._rate)
