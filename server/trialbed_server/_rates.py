"""Rate limits on the requests of a client."""

from __future__ import annotations

import math
from collections.abc import Callable

from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from trialbed_server._http import error_response

COUNTED = ("/virtual", "/v1/", "/t/")
"""The beginnings of the paths whose requests count."""

MAX_CLIENTS = 10_000
"""Clients that are remembered; with more, those that have not asked for longest are forgotten."""


class RateCheck:
    """A bucket of tokens for each client: so many requests at once, and as many again each second.

    Args:
        rate: requests per second.
        now: seconds that only ever grow.
    """

    counts = True

    def __init__(self, rate: float, now: Callable[[], float]) -> None:
        self._rate = rate
        self._burst = max(1.0, rate)
        self._now = now
        self._clients: dict[str, tuple[float, float]] = {}

    def refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request of a client that asks too often; None if it does not."""
        path, client = scope["path"], scope.get("client")
        # Headers of proxies say nothing that can be trusted.
        seconds = self.wait(client[0] if client else "") if path.startswith(COUNTED) else 0
        if not seconds:
            return None
        message = f"this client has sent too many requests; ask again in {seconds} s"
        if path.endswith("/virtual"):
            response = JSONResponse({"error": message, "response": ""}, 429)
        else:
            response = error_response(path, message, 429, "rate_limit_error")
        response.headers["retry-after"] = str(seconds)
        return response

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
