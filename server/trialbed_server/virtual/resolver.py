"""Resolving a call: cache, then whatever else can answer."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from trialbed.errors import TrialbedError
from trialbed_server.cache import CachedResponse, Entry, ResponseCache
from trialbed_server.virtual._flights import SingleFlight
from trialbed_server.virtual.catalog import Target
from trialbed_server.virtual.keys import canonical_json, request_key
from trialbed_server.virtual.sources import Call, Made, Source

logger = logging.getLogger(__name__)


class Reply(NamedTuple):
    """An answer: the body to send, and how it was made (empty for an API error)."""

    body: bytes
    provenance: str


def error_reply(message: str, response: str = "") -> Reply:
    """An API error."""
    return Reply(error_body(message, response), "")


def error_body(message: str, response: str = "") -> bytes:
    """StableToolBench's form of an answer, with an error."""
    return json.dumps({"error": message, "response": response}).encode("ascii")


class Resolver:
    """Answers calls from memory at once, and from its sources, in order, once however many ask."""

    def __init__(self, cache: ResponseCache, sources: Sequence[Source]) -> None:
        self._cache = cache
        self._sources = sources
        self._flights: SingleFlight[Reply] = SingleFlight()

    def recent(self, target: Target, key: str) -> CachedResponse | None:
        """The answer if it is in memory."""
        return self._cache.recent(key, target.origin)

    async def resolve(self, target: Target, tool_input: Any, key: str | None = None) -> Reply:
        """Answer a call; every failure is an API error.

        Raises:
            ValueError: the input holds a number that is not finite.
        """
        key = request_key(target.name, tool_input) if key is None else key
        call = Call(target, tool_input, key)
        return await self._flights.run((key, target.origin), lambda: self._answer(call))

    async def close(self) -> None:
        """End what is being computed."""
        await self._flights.close()

    async def _answer(self, call: Call) -> Reply:
        try:
            for source in self._sources:
                found = await source.answer(call)
                if found is not None:
                    return await self._reply(call, found)
        except TrialbedError as error:
            return error_reply(str(error))
        return error_reply(f"{call.target.path}: nothing here can answer")

    async def _reply(self, call: Call, found: CachedResponse | Made) -> Reply:
        if isinstance(found, CachedResponse):
            return Reply(found.body, f"cache:{found.provenance}")
        if not found.keep:
            return Reply(found.body.encode("ascii"), "")
        name, text = call.target.name, canonical_json(call.tool_input)
        try:
            kept = await self._cache.add(Entry(call.key, name, text, found.body, found.origin))
        except TrialbedError as error:
            # The answer is good even if it cannot be kept.
            logger.error("%s", error)  # noqa: TRY400 - the cause is in the text
            return Reply(found.body.encode("ascii"), found.origin.provenance)
        return Reply(kept.body, found.origin.provenance)
