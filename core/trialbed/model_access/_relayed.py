"""Access to a model through another process, which has the connections, the budget and the cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from trialbed.model_access._access import ModelAccess
from trialbed.records import ModelEndpoint

Ask = Callable[[str, tuple[Any, ...]], Any]
"""Has a step done by the other process, and waits for its result."""

STEPS = ("kept_reply", "count_kept", "keep_reply", "reply")
"""The methods that the other process is asked for. Replies are read here."""


class RelayedModel(ModelAccess):
    """A model that another process asks.

    Args:
        ask: may be called in any thread.
    """

    def __init__(self, endpoint: ModelEndpoint, ask: Ask) -> None:
        super().__init__(endpoint)
        self._ask = ask

    async def kept_reply(self, request: dict[str, Any], schema: Mapping[str, Any] | None) -> str | None:
        """Return the reply that is kept for a request."""
        found: str | None = await asyncio.to_thread(self._ask, "kept_reply", (request, schema))
        return found

    async def count_kept(self) -> None:
        """Count a kept reply that was used."""
        await asyncio.to_thread(self._ask, "count_kept", ())

    async def keep_reply(self, request: dict[str, Any], schema: Mapping[str, Any] | None, reply: str) -> None:
        """Keep the reply to a request."""
        await asyncio.to_thread(self._ask, "keep_reply", (request, schema, reply))

    async def reply(self, request: dict[str, Any], schema: Mapping[str, Any] | None) -> str:
        """Have a request sent, and return the text of its reply.

        Raises:
            ModelFailed: as in the other process.
        """
        text: str = await asyncio.to_thread(self._ask, "reply", (request, schema))
        return text

    def copy(self) -> ModelAccess:
        """Return this access: it has no connections."""
        return self


async def run_step(access: ModelAccess, name: str, arguments: tuple[Any, ...]) -> Any:
    """Do a step for another process.

    Raises:
        ValueError: there is no such step.
        ModelFailed: as the step says.
    """
    if name not in STEPS:
        raise ValueError(f"no step of a model's access: {name}")
    return await getattr(access, name)(*arguments)
