"""Access to a model through another event loop or process, which has the connections, the budget and the cache."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from trialbed.model_access._access import ModelAccess
from trialbed.records import ModelEndpoint


class RelayedModel(ModelAccess):
    """A model that is asked elsewhere. Its replies are read here.

    Args:
        ask: calls a method of the other access.
    """

    def __init__(self, endpoint: ModelEndpoint, ask: Callable[..., Awaitable[Any]]) -> None:
        super().__init__(endpoint)
        self._ask = ask

    async def kept_reply(self, request: dict[str, Any], schema: Mapping[str, Any] | None) -> str | None:
        """Return the reply that is kept for a request."""
        return cast("str | None", await self._ask("kept_reply", request, schema))

    async def count_kept(self) -> None:
        """Count a kept reply that was used."""
        await self._ask("count_kept")

    async def keep_reply(self, request: dict[str, Any], schema: Mapping[str, Any] | None, reply: str) -> None:
        """Keep the reply to a request."""
        await self._ask("keep_reply", request, schema, reply)

    async def reply(self, request: dict[str, Any], schema: Mapping[str, Any] | None) -> str:
        """Have a request sent, and return the text of its reply.

        Raises:
            ModelFailed: as the other access.
        """
        return cast("str", await self._ask("reply", request, schema))

    def copy(self) -> ModelAccess:
        """Return this access, since it has no connections."""
        return self
