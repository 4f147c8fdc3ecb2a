"""Plain requests of the gateway's own, which show whether a refusal is the endpoint's or the request's own."""

from __future__ import annotations

import asyncio
import json

import aiohttp

from trialbed.wire import ModelMessage
from trialbed.wire.dialects import dialect
from trialbed_server.gateway.connection import Connection, ProxiedRequest

PROMPT = "Reply with the word OK."

PATIENCE = 30.0
"""Seconds within which a plain request must be answered."""


class PlainRequests:
    """Asks an endpoint for a model with nothing but a key, the model's name and a short message.

    Attributes:
        answered: how many were.
    """

    def __init__(self, connection: Connection) -> None:
        self.answered = 0
        self._connection = connection
        self._next: dict[str, asyncio.Task[bool]] = {}
        self._turn = asyncio.Lock()

    async def works(self, model: str) -> bool:
        """Return whether the endpoint answers a plain request that is sent from now on; one is sent at a time."""
        if model not in self._next:
            self._next[model] = asyncio.create_task(self._ask(model))
        return await asyncio.shield(self._next[model])

    async def _ask(self, model: str) -> bool:
        async with self._turn:
            # A refusal that comes from now on needs a later request: the key may have gone meanwhile.
            del self._next[model]
            try:
                async with asyncio.timeout(PATIENCE), self._connection.send(_plain(model)) as answer:
                    works = answer.status < 300
            except (aiohttp.ClientError, OSError):
                works = False
        self.answered += works
        return works


def _plain(model: str) -> ProxiedRequest:
    spoken = dialect()
    document = spoken.write_request(model, [ModelMessage(role="user", content=PROMPT)], {})
    headers = [(b"content-type", b"application/json")]
    body = json.dumps(document).encode()
    return ProxiedRequest("POST", f"/{spoken.PATH}", headers, body, PATIENCE, spoken.read_request(document), model)
