"""Resolves calls: from the cache, then from the other sources."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from trialbed.errors import TrialbedError
from trialbed.records import Failure
from trialbed_server.cache import CachedResponse, Entry, ResponseCache
from trialbed_server.cache.keys import alias_key, canonical_json, request_key
from trialbed_server.targets import CallTarget
from trialbed_server.virtual.sources import AnswerSource, NewAnswer, ToolBroken, VirtualCall

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

Saving = Literal["new", "all", "none"]


class VirtualAnswer(NamedTuple):
    """An answer.

    Attributes:
        body: the bytes to send.
        provenance: how it was made; empty for an API error.
        failure: why there is none, where that is the fault of a simulator or a world.
    """

    body: bytes
    provenance: str
    failure: Failure | None = None


def error_reply(message: str) -> VirtualAnswer:
    """An API error."""
    return VirtualAnswer(error_body(message), "")


def error_body(message: str, response: str = "") -> bytes:
    """StableToolBench's form of an answer, with an error."""
    return json.dumps({"error": message, "response": response}).encode("ascii")


class SingleFlight(Generic[Result]):
    """Shares a computation between all callers that ask for its key while it is running; keeps nothing afterwards."""

    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Task[Result]] = {}

    async def run(self, key: Hashable, work: Callable[[], Awaitable[Result]]) -> Result:
        """The result of the computation under this key; a caller that is cancelled does not end it for the others."""
        task = self._running.get(key)
        if task is None:
            task = asyncio.ensure_future(self._work(key, work))
            self._running[key] = task
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Cancel every computation that is running."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(self, key: Hashable, work: Callable[[], Awaitable[Result]]) -> Result:
        try:
            return await work()
        finally:
            del self._running[key]


class Resolver:
    """Answers calls from memory, else from its sources in order. Equal calls at the same time are resolved once.

    Args:
        saving: how answers are kept: ``new`` where there is none yet, ``all`` in the place of the present one, ``none``
            not at all.
        ended: called when a call is resolved, whatever came of it.
        fresh: whether answers in memory only may come before the sources, as stored ones are asked for again.
    """

    def __init__(
        self,
        cache: ResponseCache,
        sources: Sequence[AnswerSource],
        saving: Saving = "new",
        ended: Callable[[VirtualCall], Awaitable[None]] | None = None,
        *,
        fresh: bool = False,
    ) -> None:
        self._cache = cache
        self._sources = sources
        self._saving = saving
        self._ended = ended
        self._fresh = fresh
        self._single: SingleFlight[VirtualAnswer] = SingleFlight()

    def at_once(self, target: CallTarget, tool_input: Any, key: str) -> CachedResponse | None:
        """The answer if it takes no waiting: it is in memory, or in a file that is quickly read."""
        if self._fresh:
            return self._cache.recent(key, target.origin)
        return self._cache.at_once(key, lambda: alias_key(target.name, tool_input), target.origin)

    async def resolve(self, target: CallTarget, tool_input: Any, key: str | None = None) -> VirtualAnswer:
        """Answer a call; every failure is an API error.

        Raises:
            ValueError: the input holds a number that is not finite.
        """
        key = request_key(target.name, tool_input) if key is None else key
        call = VirtualCall(target, tool_input, key)
        return await self._single.run((key, target.origin), lambda: self._answer(call))

    async def close(self) -> None:
        """Cancel every call that is being resolved."""
        await self._single.close()

    async def _answer(self, call: VirtualCall) -> VirtualAnswer:
        try:
            for source in self._sources:
                found = await source.answer(call)
                if found is not None:
                    return await self._reply(call, found)
        except ToolBroken as error:
            return VirtualAnswer(error_body(str(error)), "", error.failure)
        except TrialbedError as error:
            return error_reply(str(error))
        finally:
            if self._ended is not None:
                await self._ended(call)
        return error_reply(f"{call.target.path}: no source can answer")

    async def _reply(self, call: VirtualCall, found: CachedResponse | NewAnswer) -> VirtualAnswer:
        if isinstance(found, CachedResponse):
            return VirtualAnswer(found.body, f"cache:{found.provenance}")
        if not found.keep:
            return VirtualAnswer(found.body.encode("ascii"), "")
        if self._saving == "none":
            return VirtualAnswer(found.body.encode("ascii"), found.origin.provenance)
        name, text = call.target.name, canonical_json(call.tool_input)
        try:
            entry = Entry(call.key, name, text, found.body, found.origin, found.settings)
            kept = await self._cache.add(entry, call.target.origin, replace=self._saving == "all")
        except TrialbedError as error:
            # The answer is good even if it cannot be kept.
            logger.error("%s", error)  # noqa: TRY400 - the cause is in the text
            return VirtualAnswer(found.body.encode("ascii"), found.origin.provenance)
        return VirtualAnswer(kept.body, found.origin.provenance)
