"""Resolve calls: from the cache, the real API and simulators, or by a trial's world and the program that opened it."""

from __future__ import annotations

import asyncio
import difflib
import heapq
import json
import logging
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from trialbed.contracts import ApiRefused, Example, Simulation, World
from trialbed.errors import SimulationError, TrialbedError
from trialbed.foreign_code import LateCode
from trialbed.records import Api, Failure, Json
from trialbed.texts import record_json
from trialbed.tracebacks import tool_failure
from trialbed_server._http import aiohttp, read_at_most
from trialbed_server._metrics import Metrics
from trialbed_server._options import ServerOptions
from trialbed_server.faults import VirtualAnswer, answer_body
from trialbed_server.real import RealBackend, RealFailed
from trialbed_server.response_store import Entry, Origin, ResponseCache
from trialbed_server.simulators.registry import Simulators, within
from trialbed_server.simulators.template import argument_problems
from trialbed_server.standard_names import alias_key, canonical_json, standard_input
from trialbed_server.targets import CallTarget
from trialbed_server.trials import UNLIMITED, HostedWorld, OpenTrial

logger = logging.getLogger(__name__)

NEAREST, LIKELY, LONGEST = 3, 30, 500
"""Inputs to name if one is not cached, candidates for exact comparison, and letters to compare of each."""

KINDS: dict[type, str] = {
    list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false", type(None): "null"
}  # fmt: skip
"""Type of an input -> its name in JSON."""

REAL = Origin("real")


class VirtualCall(NamedTuple):
    """A call to answer, with its Api, its input and its cache key."""

    target: CallTarget
    tool_input: Any
    key: str


@dataclass
class Resolver:
    """Answers calls; equal calls at the same time are resolved once."""

    cache: ResponseCache
    simulators: Simulators
    real: RealBackend | None
    metrics: Metrics
    options: ServerOptions
    _running: dict[Hashable, asyncio.Task[VirtualAnswer]] = field(default_factory=dict)

    async def resolve(self, target: CallTarget, tool_input: Any, key: str) -> VirtualAnswer:
        """Answer a call; every failure is an API error. A caller that is cancelled does not end it for the others.

        Raises:
            ValueError: the input holds a number that is not finite.
        """
        found = self.cache.recent(key, target.origin)
        if found is not None:
            return VirtualAnswer(found.body, f"cache:{found.provenance}")
        place = key, target.origin
        if place not in self._running:
            task = asyncio.ensure_future(self._resolve(VirtualCall(target, tool_input, key)))
            self._running[place] = task
            task.add_done_callback(lambda _: self._running.pop(place))
        return await asyncio.shield(self._running[place])

    async def close(self) -> None:
        """Cancel every call that is being resolved."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _resolve(self, call: VirtualCall) -> VirtualAnswer:
        try:
            return await self._look_up(call) or await self._ask_real(call) or await self._simulate(call)
        except TrialbedError as error:
            return error_reply(str(error))

    async def _look_up(self, call: VirtualCall) -> VirtualAnswer | None:
        """Return a stored answer, also one imported under standardised names of parameters."""
        keys = list(dict.fromkeys((call.key, alias_key(call.target.name, call.tool_input))))
        found = await self.cache.find(keys, call.target.origin)
        return None if found is None else VirtualAnswer(found.body, f"cache:{found.provenance}")

    async def _ask_real(self, call: VirtualCall) -> VirtualAnswer | None:
        """Return the real API's answer; None without one, which is counted."""
        if self.real is None or call.target.simulator.invented or not isinstance(call.tool_input, dict):
            return None
        try:
            body = await self.real.call(call.target.name, standard_input(call.tool_input))
        except RealFailed as error:
            self.metrics.real.labels("failed").inc()
            logger.info("%s: no real answer: %s", call.target.path, error)
            return None
        self.metrics.real.labels("answered").inc()
        parts = urlsplit(self.real.url)
        # Not user, password and query, which may hold a key.
        url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        return await self._keep(call, body, REAL, {"url": url})

    async def _simulate(self, call: VirtualCall) -> VirtualAnswer:
        """Return the answer of the target's simulator, within limits of time and size.

        Raises:
            SimulationError: the Api is frozen, or a known one in another case, or the simulator refuses.
        """
        target, simulator, seconds = call.target, call.target.simulator, self.options.simulator_timeout
        if target.frozen:
            await self._refuse_frozen(call)
        if not isinstance(call.tool_input, dict):
            return not_an_object(target, call.tool_input)
        if target.meant is not None:
            meant = "/".join(filter(None, (target.meant.category, *target.meant.pair)))
            raise SimulationError(f"{target.path}: no such tool; names are case-sensitive: did you mean {meant}?")
        try:
            begin = partial(simulator.simulate, target.api, target.path, call.tool_input)
            if simulator.max_examples:
                examples = await within(seconds, self._examples(target))
                begin = partial(simulator.simulate_like, target.api, target.path, call.tool_input, examples)
            made: Simulation = await self.simulators.ask(simulator, begin, seconds)
            body = json.dumps({"error": made.error, "response": made.response}, allow_nan=False)
        except SimulationError:
            raise
        except LateCode:
            late = TimeoutError(f"no answer within {seconds:g} seconds")
            return broken(target, call.tool_input, late, simulator)
        except Exception as error:
            logger.exception("simulator of %s failed", target.path)
            return broken(target, call.tool_input, error, simulator)
        if len(body) > self.options.max_answer:
            raise SimulationError(f"{target.path}: the answer is larger than {self.options.max_answer} bytes")
        if made.error:
            return VirtualAnswer(body.encode("ascii"))
        origin = Origin(simulator.label, target.origin.revision)
        return await self._keep(call, body, origin, dict(simulator.settings()))

    async def _refuse_frozen(self, call: VirtualCall) -> None:
        """Raise the error of a call that only the cache may answer; it names the nearest inputs that are cached."""
        wanted = canonical_json(call.tool_input)
        inputs = await self.cache.inputs(call.target.name)
        nearest = await asyncio.to_thread(nearest_inputs, wanted, inputs)
        known = f"nearest cached inputs: {'; '.join(nearest)}" if nearest else "no input of this tool is cached"
        raise SimulationError(f"{call.target.path}: {wanted} is not in the cache, which is frozen; {known}")

    async def _examples(self, target: CallTarget) -> list[Example]:
        """Cached answers of the Api, real and imported ones first; empty if the cache cannot be read."""
        most = target.simulator.max_examples
        try:
            found = await self.cache.examples(target.name, target.origin, 2 * most)
        except TrialbedError as error:
            logger.error("%s", error)  # noqa: TRY400 - the cause is in the text
            return []
        answers = [(arguments, json.loads(body)) for arguments, body in found]
        good = [(arguments, answer) for arguments, answer in answers if answer["error"] == "" != answer["response"]]
        return [Example(arguments=json.loads(given), response=answer["response"]) for given, answer in good[:most]]

    async def _keep(self, call: VirtualCall, body: str, origin: Origin, settings: dict[str, Any]) -> VirtualAnswer:
        """Keep a new answer, and return it, or another server's answer if that was kept first."""
        made = VirtualAnswer(body.encode("ascii"), origin.provenance)
        if self.options.read_only:
            return made
        written = json.dumps(settings) if settings else ""
        entry = Entry(call.key, call.target.name, canonical_json(call.tool_input), body, origin, written)
        try:
            kept = await self.cache.add(entry, call.target.origin)
        except TrialbedError as error:
            # The answer is good even if it cannot be kept.
            logger.error("%s", error)  # noqa: TRY400 - the cause is in the text
            return made
        return made._replace(body=kept.body)


def nearest_inputs(wanted: str, inputs: Sequence[str]) -> list[str]:
    """Return the inputs that are most similar to another one, best first."""
    matcher = difflib.SequenceMatcher(None)
    matcher.set_seq2(wanted[:LONGEST])

    def likeness(text: str, *, roughly: bool) -> float:
        matcher.set_seq1(text[:LONGEST])
        return matcher.quick_ratio() if roughly else matcher.ratio()

    likely = heapq.nlargest(LIKELY, inputs, key=lambda text: likeness(text, roughly=True))
    return heapq.nlargest(NEAREST, likely, key=lambda text: likeness(text, roughly=False))


def broken(target: CallTarget, arguments: dict[str, Any], error: Exception, code: object) -> VirtualAnswer:
    """Return the answer to a call that made a simulator or a world raise an exception.

    The tool is to blame only if the Api is known and the arguments fit: other calls come from the model.

    Args:
        code: the simulator or the world.
    """
    if target.api is None:
        return error_reply(f"{target.path}: the simulator failed: {type(error).__name__}: {error}")
    problems = argument_problems(target.api, arguments)
    if problems:
        return error_reply(f"Invalid arguments for {target.path}: {problems}")
    failure = tool_failure(f"{target.path}: {type(code).__name__}", error, code)
    return VirtualAnswer(answer_body(failure.message), failure=failure)


def not_an_object(target: CallTarget, tool_input: Any) -> VirtualAnswer:
    """Return the API error of an input that is another JSON value than an object."""
    return error_reply(f"{target.path}: tool_input must be a JSON object, this is {KINDS[type(tool_input)]}")


def error_reply(message: str) -> VirtualAnswer:
    """Return an API error."""
    return VirtualAnswer(answer_body(message))


def act(world: World, api: Api, target: CallTarget, tool_input: Any, max_answer: float = math.inf) -> VirtualAnswer:
    """Have a world answer a call, which may change it.

    Every failure is an API error, and also a failure of the trial if it is the world's fault. The function does not
    wait, which keeps two calls of a trial from being in the world at the same time.

    Args:
        max_answer: largest answer in bytes; a larger one is an API error.
    """
    if not isinstance(tool_input, dict):
        return not_an_object(target, tool_input)
    problems = argument_problems(api, tool_input) if world.checked else ""
    if problems:
        return error_reply(f"Invalid arguments for {target.path}: {problems}")
    try:
        response = world.call(api, tool_input)
        body = json.dumps({"error": "", "response": response}, allow_nan=False).encode("ascii")
    except ApiRefused as error:
        return error_reply(str(error))
    except Exception as error:
        logger.exception("the world of %s failed", target.path)
        return broken(target, tool_input, error, world)
    if len(body) > max_answer:
        return error_reply(f"{target.path}: the answer is larger than {max_answer} bytes")
    return VirtualAnswer(body, target.simulator.label)


async def act_elsewhere(
    hosted: HostedWorld, target: CallTarget, tool_input: Any, max_answer: float = math.inf
) -> VirtualAnswer | None:
    """Have a foreign world answer a call; None if the trial has no world, or the Api is unknown.

    If the world cannot be made, or does not return, that is a failure of the trial.
    """
    api = target.api
    if api is None:
        return None
    name = f"{target.path}: {type(hosted.code).__name__}"
    try:
        return await hosted.ask(lambda world: act(world, api, target, tool_input, max_answer))
    except Exception as error:
        logger.exception("the world of %s cannot be made, or does not return", target.path)
        failure = tool_failure(name, error, hosted.code)
    return VirtualAnswer(answer_body(failure.message), failure=failure)


NOTICE = 5.0
"""Seconds for a program to report the line of its own code that did not return in time."""


class Callbacks:
    """Ask the programs that opened trials for the answers to calls and to agents; an async context manager.

    Args:
        allowed: whether such programs are asked. Only programs that control trials with a token may make the server
            send requests to an address of their choice.
        max_answer: largest answer in bytes.
    """

    def __init__(self, *, allowed: bool, max_answer: int) -> None:
        self._allowed = allowed
        self._max_answer = max_answer
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        if self._allowed:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), trust_env=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def call(self, trial: OpenTrial, target: CallTarget, tool_input: Any) -> VirtualAnswer:
        """Answer a call; if the program does not, that is an API error."""
        if not isinstance(tool_input, dict):
            return not_an_object(target, tool_input)
        asked = {"api": target.ref.model_dump(), "arguments": tool_input}
        try:
            answer = await self._ask(trial, asked, trial.timeout(UNLIMITED) + NOTICE)
        except ApiRefused as error:
            return error_reply(f"{target.path}: {error}")
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            logger.warning("%s: the program that answers for it failed: %s", target.path, error)
            message = f"{target.path}: no answer: {type(error).__name__}: {error}"
            return VirtualAnswer(answer_body(message), failure=Failure(kind="tool", message=message))
        if answer["error"]:
            return error_reply(answer["error"])
        return VirtualAnswer(answer_body("", answer["response"]), answer["provenance"])

    async def next_message(self, trial: OpenTrial) -> str | None:
        """Return the next message of a user that the program plays; None if it ends the conversation."""
        log = await asyncio.to_thread(lambda: record_json(trial.log_so_far()))
        try:
            found: str | None = (await self._ask(trial, {"log": log}))["text"]
        except (aiohttp.ClientError, KeyError, ValueError) as error:
            message = f"the program that plays the user failed: {type(error).__name__}: {error}"
            trial.note_failure(Failure(kind="server", message=message))
            return None
        return found

    async def _ask(self, trial: OpenTrial, asked: dict[str, Json], seconds: float | None = None) -> Any:
        url = trial.registration.callback_url
        if self._session is None or url is None:
            raise ApiRefused("this server knows no program that answers for it")
        body = {"trial": trial.registration.trial, **asked}
        async with self._session.post(url, json=body, timeout=aiohttp.ClientTimeout(total=seconds)) as reply:
            reply.raise_for_status()
            found = await read_at_most(reply, self._max_answer)
        if found is None:
            raise ApiRefused(f"the answer is larger than {self._max_answer} bytes")
        return json.loads(found)
