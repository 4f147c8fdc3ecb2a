"""One computation of an answer at a time, over all servers of one response cache."""

from __future__ import annotations

import asyncio
import logging
import secrets

from trialbed.errors import TrialbedError
from trialbed_server._clock import Clock
from trialbed_server.cache import CachedResponse, ResponseCache
from trialbed_server.virtual.sources import AnswerSource, VirtualCall

logger = logging.getLogger(__name__)

FIRST_LOOK = 0.02
LONGEST_LOOK = 0.5
"""Seconds between two looks for another server's answer."""


class SharedFlight:
    """A source that answers with what another server of the same cache is computing; None to compute it here.

    A server claims a call in the database before it computes it. The claim of one that died ends by itself.

    Args:
        known: where the other server's answer will be.
        lasting: seconds after which a claim has ended.
    """

    def __init__(self, cache: ResponseCache, known: AnswerSource, clock: Clock, *, lasting: float) -> None:
        self._cache = cache
        self._known = known
        self._clock = clock
        self._lasting = lasting
        self._owner = secrets.token_hex(8)
        self._held: set[str] = set()

    async def answer(self, call: VirtualCall) -> CachedResponse | None:
        """Wait for another server's answer; None if this call is now this server's to compute."""
        claim, pause = _claim(call), FIRST_LOOK
        deadline = self._clock.monotonic() + self._lasting
        while True:
            try:
                if await self._cache.claim(claim, self._owner, self._lasting):
                    self._held.add(claim)
                    # The other one may have been done between the last look and the claim.
                    return await self._look(call)
            except TrialbedError as error:
                logger.error("%s", error)  # noqa: TRY400 - the cause is in the text
                return None
            if self._clock.monotonic() > deadline:
                return None
            await self._clock.sleep(pause)
            pause = min(2 * pause, LONGEST_LOOK)
            found = await self._look(call)
            if found is not None:
                return found

    async def release(self, call: VirtualCall) -> None:
        """This server has computed the answer, or failed to."""
        claim = _claim(call)
        if claim in self._held:
            self._held.discard(claim)
            try:
                await asyncio.shield(self._cache.release(claim, self._owner))
            except TrialbedError as error:
                logger.error("%s", error)  # noqa: TRY400 - the cause is in the text

    async def _look(self, call: VirtualCall) -> CachedResponse | None:
        found = await self._known.answer(call)
        return found if isinstance(found, CachedResponse) else None


def _claim(call: VirtualCall) -> str:
    origin = call.target.origin
    return f"{call.key} {origin.provenance} {origin.revision}"
