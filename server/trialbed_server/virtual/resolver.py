"""Resolves calls: from the cache, then from the other sources."""

from __future__ import annotations

import asyncio
import difflib
import heapq
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

from trialbed.contracts import Example, Simulation
from trialbed.errors import SimulationError, TrialbedError
from trialbed.foreign_code import LateCode
from trialbed.records import Failure
from trialbed.tracebacks import tool_failure
from trialbed_server._clock import Clock
from trialbed_server._metrics import Metrics
from trialbed_server._options import ServerOptions
from trialbed_server.cache import CachedResponse, ResponseCache
from trialbed_server.real import RealBackend, RealFailed
from trialbed_server.response_store import ANY, NO_ONE, Entry, Origin
from trialbed_server.simulators.registry import Simulators, within
from trialbed_server.simulators.template import argument_problems
from trialbed_server.standard_names import alias_key, canonical_json, standard_input
from trialbed_server.targets import CallTarget

logger = logging.getLogger(__name__)

NEAREST, LIKELY, LONGEST = 3, 30, 500
"""Inputs that are named where one is not cached, those that are compared exactly, and letters of each that are."""


KINDS: dict[type, str] = {
    list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false", type(None): "null"
}  # fmt: skip
"""Type of an input -> its name in JSON."""


@dataclass(frozen=True)
class VirtualCall:
    """One call to answer: its Api, its input and its cache key."""

    target: CallTarget
    tool_input: Any
    key: str


@dataclass(frozen=True)
class NewAnswer:
    """An answer made for a call: its JSON, its maker, whether it may be kept, and the settings it was made with."""

    body: str
    origin: Origin
    keep: bool
    settings: str = ""


class ToolBroken(TrialbedError):
    """A simulator or a world could not answer a call that its documentation allows."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def broken(target: CallTarget, arguments: dict[str, Any], error: Exception, code: object) -> TrialbedError:
    """Return the error of a call on which a simulator or a world raised an exception.

    It is the tool's fault only where the call is one of a known Api, and its arguments fit: others come from the model.

    Args:
        code: the simulator or the world.
    """
    if target.api is None:
        return SimulationError(f"{target.path}: the simulator failed: {type(error).__name__}: {error}")
    problems = argument_problems(target.api, arguments)
    if problems:
        return SimulationError(f"Invalid arguments for {target.path}: {problems}")
    name = f"{target.path}: {type(code).__name__}"
    return ToolBroken(tool_failure(name, error, code))


class AnswerSource(Protocol):
    """One place where answers come from."""

    async def answer(self, call: VirtualCall) -> CachedResponse | NewAnswer | None:
        """Answer, or None to leave it to the next source.

        Raises:
            TrialbedError: no later source may answer either; the text becomes the API error.
        """


@dataclass
class CacheSource:
    """Answers that were given before, also those imported under standardised parameter names.

    Attributes:
        authoritative: whether only real and imported ones count, unless the Api is frozen.
    """

    cache: ResponseCache
    authoritative: bool = False

    async def answer(self, call: VirtualCall) -> CachedResponse | None:
        """The stored answer, if there is one."""
        keys = list(dict.fromkeys((call.key, alias_key(call.target.name, call.tool_input))))
        origin = call.target.origin
        return await self.cache.find(keys, NO_ONE if self.authoritative and origin != ANY else origin)


REAL = Origin("real")


class RealSource:
    """Answers of the real API. Its failures are counted, and left to the next source."""

    def __init__(self, backend: RealBackend, metrics: Metrics) -> None:
        self._backend = backend
        self._metrics = metrics
        self._settings = json.dumps({"url": _without_credentials(backend.url)})

    async def answer(self, call: VirtualCall) -> NewAnswer | None:
        """The real answer, if there is one."""
        if call.target.simulator.invented or not isinstance(call.tool_input, dict):
            return None
        try:
            body = await self._backend.call(call.target.name, standard_input(call.tool_input))
        except RealFailed as error:
            self._metrics.real_request("failed")
            logger.info("%s: no real answer: %s", call.target.path, error)
            return None
        self._metrics.real_request("answered")
        return NewAnswer(body, REAL, keep=True, settings=self._settings)


def _without_credentials(url: str) -> str:
    """The URL without user, password and query, which may hold a key."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


@dataclass
class FrozenSource:
    """Ends the search for Apis that only the cache may answer for."""

    cache: ResponseCache

    async def answer(self, call: VirtualCall) -> None:
        """Return None for other Apis.

        Raises:
            SimulationError: the Api is frozen; names the nearest inputs that are cached.
        """
        if not call.target.frozen:
            return
        wanted = canonical_json(call.tool_input)
        inputs = await self.cache.inputs(call.target.name)
        nearest = await asyncio.to_thread(nearest_inputs, wanted, inputs)
        known = f"nearest cached inputs: {'; '.join(nearest)}" if nearest else "no input of this Api is cached"
        raise SimulationError(f"{call.target.path}: {wanted} is not in the cache, which is frozen; {known}")


def nearest_inputs(wanted: str, inputs: Sequence[str]) -> list[str]:
    """Return the inputs that are most similar to another one, best first."""
    matcher = difflib.SequenceMatcher(None)
    matcher.set_seq2(wanted[:LONGEST])

    def likeness(text: str, *, roughly: bool) -> float:
        matcher.set_seq1(text[:LONGEST])
        return matcher.quick_ratio() if roughly else matcher.ratio()

    likely = heapq.nlargest(LIKELY, inputs, key=lambda text: likeness(text, roughly=True))
    return heapq.nlargest(NEAREST, likely, key=lambda text: likeness(text, roughly=False))


@dataclass
class SimulatorSource:
    """Answers of the target's simulator, within limits of time and size."""

    simulators: Simulators
    cache: ResponseCache
    options: ServerOptions

    async def answer(self, call: VirtualCall) -> NewAnswer:
        """Return the simulator's answer.

        Raises:
            SimulationError: the input is not a JSON object, the Api is a known one in another case, or the simulator
                refuses.
            ToolBroken: it fails, or is too slow.
        """
        target = call.target
        if not isinstance(call.tool_input, dict):
            kind = KINDS[type(call.tool_input)]
            raise SimulationError(f"{target.path}: tool_input must be a JSON object, this is {kind}")
        if target.meant is not None:
            meant = "/".join(filter(None, (target.meant.category, *target.meant.pair)))
            raise SimulationError(f"{target.path}: no such Api; names are case-sensitive: did you mean {meant}?")
        try:
            simulation = await self._simulate(call)
            body = json.dumps({"error": simulation.error, "response": simulation.response}, allow_nan=False)
        except SimulationError:
            raise
        except LateCode as error:
            late = TimeoutError(f"no answer within {self.options.simulator_timeout:g} seconds")
            raise broken(target, call.tool_input, late, target.simulator) from error
        except Exception as error:
            logger.exception("simulator of %s failed", target.path)
            raise broken(target, call.tool_input, error, target.simulator) from error
        if len(body) > self.options.max_answer:
            raise SimulationError(f"{target.path}: the answer is larger than {self.options.max_answer} bytes")
        settings = json.dumps(dict(given)) if (given := target.simulator.settings()) else ""
        made_by = Origin(target.simulator.label, target.origin.revision)
        return NewAnswer(body, made_by, keep=not simulation.error, settings=settings)

    async def _simulate(self, call: VirtualCall) -> Simulation:
        target, simulator = call.target, call.target.simulator
        api, path, arguments = target.api, target.path, call.tool_input
        begin = partial(simulator.simulate, api, path, arguments)
        if simulator.max_examples:
            examples = await within(self.options.simulator_timeout, self._examples(call))
            begin = partial(simulator.simulate_like, api, path, arguments, examples)
        return await self.simulators.ask(simulator, begin, self.options.simulator_timeout)

    async def _examples(self, call: VirtualCall) -> list[Example]:
        """Cached answers of the Api, real and imported ones first; empty if the cache cannot be read."""
        target = call.target
        most = target.simulator.max_examples
        try:
            entries = await self.cache.examples(target.name, target.origin, 2 * most)
        except TrialbedError as error:
            logger.error("%s", error)  # noqa: TRY400 - the cause is in the text
            return []
        answers = [(entry, json.loads(entry.body)) for entry in entries]
        good = [(entry, answer) for entry, answer in answers if answer["error"] == "" and answer["response"] != ""]
        return [
            Example(arguments=json.loads(entry.input), response=answer["response"]) for entry, answer in good[:most]
        ]


FIRST_LOOK = 0.02
LONGEST_LOOK = 0.5
"""Seconds between two looks for another server's answer."""


@dataclass
class SharedFlight:
    """A source that answers with what another server of the same cache is computing; None to compute it here.

    A server claims a call in the database before it computes it. The claim of a server that died expires.

    Attributes:
        known: where the other server's answer will be.
        lasting: seconds after which a claim has ended.
    """

    cache: ResponseCache
    known: CacheSource
    clock: Clock
    lasting: float
    _owner: str = field(default_factory=partial(secrets.token_hex, 8))
    _held: set[str] = field(default_factory=set)

    async def answer(self, call: VirtualCall) -> CachedResponse | None:
        """Wait for another server's answer; None if this server is to compute it."""
        claim, pause = _claim(call), FIRST_LOOK
        deadline = self.clock.monotonic() + self.lasting
        while True:
            try:
                if await self.cache.claim(claim, self._owner, self.lasting):
                    self._held.add(claim)
                    # The other one may have been done between the last look and the claim.
                    return await self.known.answer(call)
            except TrialbedError as error:
                logger.error("%s", error)  # noqa: TRY400 - the cause is in the text
                return None
            if self.clock.monotonic() > deadline:
                return None
            await self.clock.sleep(pause)
            pause = min(2 * pause, LONGEST_LOOK)
            found = await self.known.answer(call)
            if found is not None:
                return found

    async def release(self, call: VirtualCall) -> None:
        """End the claim: this server has computed the answer, or failed to."""
        claim = _claim(call)
        if claim in self._held:
            self._held.discard(claim)
            try:
                await asyncio.shield(self.cache.release(claim, self._owner))
            except TrialbedError as error:
                logger.error("%s", error)  # noqa: TRY400 - the cause is in the text


def _claim(call: VirtualCall) -> str:
    origin = call.target.origin
    return f"{call.key} {origin.provenance} {origin.revision}"


Result = TypeVar("Result")

Saving = Literal["new", "all", "none"]


class VirtualAnswer(NamedTuple):
    """An answer.

    Attributes:
        body: the bytes to send.
        provenance: how it was made; empty for an API error.
        failure: why there is no answer, if a simulator or a world is to blame.
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


@dataclass
class Resolver:
    """Answers calls from memory, else from its sources in order. Equal calls at the same time are resolved once.

    Attributes:
        saving: how answers are kept: ``new`` where there is none yet, ``all`` in the place of the present one, ``none``
            not at all. With ``all``, stored answers are asked for again, except for those in memory.
        flight: tells other servers of the cache that a call is resolved, whatever came of it.
    """

    cache: ResponseCache
    sources: Sequence[AnswerSource]
    saving: Saving = "new"
    flight: SharedFlight | None = None
    _single: SingleFlight[VirtualAnswer] = field(default_factory=SingleFlight)

    def at_once(self, target: CallTarget, tool_input: Any, key: str) -> CachedResponse | None:
        """The answer if it takes no waiting: it is in memory or in the cache's file."""
        if self.saving == "all":
            return self.cache.recent(key, target.origin)
        return self.cache.at_once(key, lambda: alias_key(target.name, tool_input), target.origin)

    async def resolve(self, target: CallTarget, tool_input: Any, key: str) -> VirtualAnswer:
        """Answer a call; every failure is an API error.

        Raises:
            ValueError: the input holds a number that is not finite.
        """
        found = self.cache.recent(key, target.origin)
        if found is not None:
            return VirtualAnswer(found.body, f"cache:{found.provenance}")
        call = VirtualCall(target, tool_input, key)
        return await self._single.run((key, target.origin), lambda: self._answer(call))

    async def close(self) -> None:
        """Cancel every call that is being resolved."""
        await self._single.close()

    async def _answer(self, call: VirtualCall) -> VirtualAnswer:
        try:
            for source in self.sources:
                found = await source.answer(call)
                if found is not None:
                    return await self._reply(call, found)
        except ToolBroken as error:
            return VirtualAnswer(error_body(str(error)), "", error.failure)
        except TrialbedError as error:
            return error_reply(str(error))
        finally:
            if self.flight is not None:
                await self.flight.release(call)
        return error_reply(f"{call.target.path}: no source can answer")

    async def _reply(self, call: VirtualCall, found: CachedResponse | NewAnswer) -> VirtualAnswer:
        if isinstance(found, CachedResponse):
            return VirtualAnswer(found.body, f"cache:{found.provenance}")
        made = VirtualAnswer(found.body.encode("ascii"), found.origin.provenance if found.keep else "")
        if not found.keep or self.saving == "none":
            return made
        name, text = call.target.name, canonical_json(call.tool_input)
        try:
            entry = Entry(call.key, name, text, found.body, found.origin, found.settings)
            kept = await self.cache.add(entry, call.target.origin, replace=self.saving == "all")
        except TrialbedError as error:
            # The answer is good even if it cannot be kept.
            logger.error("%s", error)  # noqa: TRY400 - the cause is in the text
            return made
        return made._replace(body=kept.body)
