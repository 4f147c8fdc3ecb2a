"""Plain requests of the gateway's own, which show whether a refusal is the endpoint's or the request's own."""

from __future__ import annotations

import asyncio
import json

from trialbed.wire import ModelMessage
from trialbed.wire.dialects import Dialect
from trialbed_server._aiohttp import aiohttp
from trialbed_server.gateway.causes import NOT_SPOKEN, lacks_model
from trialbed_server.gateway.connection import Connection, ProxiedRequest
from trialbed_server.gateway.pacing import Pace

PROMPT = "Reply with the word OK."

PATIENCE = 30.0
"""Seconds within which a plain request must be answered."""


class PlainRequests:
    """Asks an endpoint for a model with nothing but a key, the model's name and a short message.

    Args:
        pace: of all requests to the endpoint, which these keep, too.

    Attributes:
        answered: how many were.
    """

    def __init__(self, connection: Connection, pace: Pace) -> None:
        self.answered = 0
        self._connection = connection
        self._pace = pace
        self._next: dict[tuple[str, str], asyncio.Task[int]] = {}
        self._turn = asyncio.Lock()

    def would_wait(self, model: str, spoken: Dialect) -> bool:
        """Return whether the limits leave no room for a plain request now."""
        return self._pace.is_full(_plain(model, spoken).tokens)

    async def status(self, model: str, spoken: Dialect) -> int:
        """Return the status of the answer to a plain request that is sent from now on; 0 if none comes.

        It is also 0 where the model is said to be missing: that says nothing of the dialect. One is sent at a time.
        """
        key = model, spoken.NAME
        if key not in self._next:
            self._next[key] = asyncio.create_task(self._ask(model, spoken))
        return await asyncio.shield(self._next[key])

    async def _ask(self, model: str, spoken: Dialect) -> int:
        async with self._turn:
            # A refusal that comes from now on needs a later request: the key may have gone meanwhile.
            del self._next[model, spoken.NAME]
            request = _plain(model, spoken)
            await self._pace.pass_by(request.tokens)
            try:
                async with asyncio.timeout(PATIENCE), self._connection.send(request) as answer:
                    status = answer.status
                    if status in NOT_SPOKEN and lacks_model((await self._connection.refusal(answer))[1]):
                        status = 0
            except (aiohttp.ClientError, OSError):
                status = 0
        self.answered += is_answer(status)
        return status


def is_answer(status: int) -> bool:
    """Return whether a status is that of an answer; 0 stands for none."""
    return 0 < status < 300


def _plain(model: str, spoken: Dialect) -> ProxiedRequest:
    document = spoken.write_request(model, [ModelMessage(role="user", content=PROMPT)], {})
    headers = [(name.encode(), value.encode()) for name, value in spoken.HEADERS.items()]
    headers.append((b"content-type", b"application/json"))
    body, read = json.dumps(document).encode(), spoken.read_request(document)
    return ProxiedRequest("POST", f"/{spoken.PATH}", headers, body, PATIENCE, read, spoken, model)
