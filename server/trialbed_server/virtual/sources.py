"""The sources of answers, which the resolver asks one after the other."""

from __future__ import annotations

import asyncio
import difflib
import json
import logging
from dataclasses import dataclass
from typing import Any, Protocol

from trialbed.errors import SimulationError
from trialbed_server.cache import CachedResponse, Origin, ResponseCache
from trialbed_server.virtual.catalog import Target
from trialbed_server.virtual.keys import canonical_json, request_key, standard_input

logger = logging.getLogger(__name__)

NEAREST = 3


@dataclass(frozen=True)
class Call:
    """One call to answer: whose, with what, and under which cache key."""

    target: Target
    tool_input: Any
    key: str


@dataclass(frozen=True)
class Made:
    """An answer made for a call: JSON of it, by whom, and whether it is good to be kept."""

    body: str
    origin: Origin
    keep: bool


class Source(Protocol):
    """One place where answers come from."""

    async def answer(self, call: Call) -> CachedResponse | Made | None:
        """Answer, or None to leave it to the next source.

        Raises:
            TrialbedError: no later source may answer either; the text becomes the API error.
        """


class CacheSource:
    """Answers that were given before, also those imported under standardised parameter names."""

    def __init__(self, cache: ResponseCache) -> None:
        self._cache = cache

    async def answer(self, call: Call) -> CachedResponse | None:
        """The stored answer, if there is one."""
        alias = request_key(call.target.name, standard_input(call.tool_input))
        keys = list(dict.fromkeys((call.key, alias)))
        return await self._cache.find(keys, call.target.origin)


class FrozenSource:
    """Ends the search for Apis that only the cache may answer for."""

    def __init__(self, cache: ResponseCache) -> None:
        self._cache = cache

    async def answer(self, call: Call) -> None:
        """None for other Apis.

        Raises:
            SimulationError: the Api is frozen; names the nearest inputs that are cached.
        """
        if not call.target.frozen:
            return
        wanted = canonical_json(call.tool_input)
        inputs = await self._cache.inputs(call.target.name)
        nearest = difflib.get_close_matches(wanted, inputs, n=NEAREST, cutoff=0.0)
        known = f"nearest cached inputs: {'; '.join(nearest)}" if nearest else "no input of this Api is cached"
        raise SimulationError(f"{call.target.path}: {wanted} is not in the cache, which is frozen; {known}")


class SimulatorSource:
    """Answers that the target's simulator makes, within a time limit in seconds."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout

    async def answer(self, call: Call) -> Made:
        """Returns the simulator's answer.

        Raises:
            SimulationError: it fails, is too slow, or the input is not a JSON object.
        """
        target = call.target
        if not isinstance(call.tool_input, dict):
            kind = type(call.tool_input).__name__
            raise SimulationError(f"{target.path}: tool_input must be a JSON object, this is a {kind}")
        try:
            async with asyncio.timeout(self._timeout):
                simulation = await target.simulator.simulate(target.api, target.path, call.tool_input)
            body = json.dumps({"error": simulation.error, "response": simulation.response}, allow_nan=False)
        except SimulationError:
            raise
        except TimeoutError as error:
            raise SimulationError(f"{target.path}: no answer within {self._timeout:g} seconds") from error
        except Exception as error:
            logger.exception("simulator of %s failed", target.path)
            raise SimulationError(f"{target.path}: the simulator failed: {type(error).__name__}: {error}") from error
        return Made(body, Origin(target.simulator.provenance, target.origin.revision), keep=not simulation.error)
