"""Answer the server's calls of this process's own functions and objects, and the messages of its user.

The run's server sees and records these calls like all others, and asks for the answers here.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, cast

from trialbed.conformity import made_world
from trialbed.contracts import ApiRefused, Simulator, World
from trialbed.errors import SimulationError
from trialbed.foreign_code import ForeignCode, StuckCode
from trialbed.local_endpoint import local_endpoint
from trialbed.records import Api, ApiRef, Failure, Json, Query, WireLog
from trialbed.tracebacks import tool_failure

if TYPE_CHECKING:
    from aiohttp import web

    from trialbed.tasks import ApiBody

LOG = logging.getLogger("trialbed.engine")

CLOSING_SECONDS = 10.0
"""That tools have to end after a trial, and after a run."""


class CallbackServer:
    """Answers calls of Apis, and agents that ask the user, for the trials that are open; an async context manager.

    The caller's code runs in threads, or in its own event loop if it is ``async``, and cannot block the run.

    Args:
        bodies: the Apis that functions of the calling program answer.
        simulator: answers for all other Apis, if it is an object.
        user: returns the user's next message in a trial, given the log so far; None ends the conversation.
        seconds: that one call may take.

    Attributes:
        url: the address that the server asks.
    """

    def __init__(
        self,
        bodies: Mapping[ApiRef, ApiBody] = MappingProxyType({}),
        simulator: object = None,
        *,
        user: Callable[[WireLog], Awaitable[str | None]] | None = None,
        seconds: float = math.inf,
    ) -> None:
        self._seconds = seconds
        self._user = user
        self._bodies = bodies
        self._simulator = simulator if isinstance(simulator, Simulator) else None
        self._trials: dict[str, _CalledTrial] = {}
        self._to_end: dict[Any, ApiBody] = {}
        self._code = ForeignCode()
        self._stack = AsyncExitStack()
        self.url = ""

    async def __aenter__(self) -> Self:
        self._stack.callback(self._code.end)
        self._stack.push_async_callback(self._end_tools)
        path = f"/{secrets.token_urlsafe(24)}"
        self.url = await self._stack.enter_async_context(local_endpoint(path, self._serve)) + path
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _end_tools(self) -> None:
        await asyncio.gather(*(trial.let_go() for trial in self._trials.values()))
        for body in self._to_end.values():
            await _end(self._code, body.end_run)

    def apis(self, query: Query) -> tuple[ApiRef, ...]:
        """Return the Apis of a query that this process answers."""
        return tuple(api.ref for api in query.apis if self._simulator is not None or api.ref in self._bodies)

    def open(self, trial: str, query: Query, observe: Callable[[WireLog], WireLog] = lambda log: log) -> None:
        """Make the objects that the calls of a trial act on.

        Args:
            observe: completes the log that the user gets.
        """
        self._to_end |= {body.owner: body for body in self._bodies.values() if body.has_to_end}
        self._trials[trial] = _CalledTrial(query, self._bodies, self._simulator, self._code, self._seconds, observe)

    async def close(self, trial: str) -> tuple[Json, Failure | None]:
        """Return the final state of a trial, and the failure of a tool, which is not the agent's fault."""
        ended = self._trials.get(trial)
        if ended is None:
            return None, None
        ended.is_open = False
        if ended.asking is not None:
            ended.asking.cancel()
        state = await ended.end()
        # If this is cancelled, it ends with the run.
        self._trials.pop(trial, None)
        return state, ended.failure

    async def _serve(self, request: web.Request) -> web.Response:
        from aiohttp import web

        asked = json.loads(await request.read())
        trial = self._trials.get(asked["trial"])
        if trial is None or not trial.is_open:
            return web.json_response({"error": "this trial is closed", "response": ""})
        if self._user is not None and "log" in asked:
            read = WireLog.model_validate_json
            log = await asyncio.to_thread(lambda: trial.observe(read(asked["log"])))  # it may be long
            trial.asking = asyncio.ensure_future(self._user(log))
            return web.json_response({"text": await trial.asking})
        body = await trial.answer(ApiRef(**asked["api"]), asked["arguments"])
        return web.Response(text=body, content_type="application/json")


class _CalledTrial:
    """The calls of one trial, and the objects that they act on.

    Attributes:
        observe: completes the log that the user gets.
        is_open: whether calls are answered.
        asking: waits for the user's next message.
        failure: the first exception that a function or the simulator raised.
    """

    def __init__(
        self,
        query: Query,
        bodies: Mapping[ApiRef, ApiBody],
        simulator: Simulator | None,
        code: ForeignCode,
        seconds: float,
        observe: Callable[[WireLog], WireLog],
    ) -> None:
        self.observe = observe
        self._apis = {api.ref: api for api in (*query.apis, *query.user_tools)}
        self._code = code
        self._bodies = bodies
        self._simulator = simulator
        self._seconds = seconds
        self._owners: dict[Any, Any] = {}
        self._to_end: list[tuple[ApiBody, Any]] = []
        self._world: World | None = None
        self._objects = ForeignCode(in_order=True, beside=code)
        self._state = query.initial_state
        self._making = asyncio.Lock()
        self._is_made = False
        self.is_open = True
        self.asking: asyncio.Future[str | None] | None = None
        self.failure: Failure | None = None

    async def _make(self) -> None:
        """Make the objects before the first call."""
        async with self._making:
            if self._is_made:
                return
            self._is_made = True
            state = json.loads(json.dumps(self._state))
            if self._simulator is not None:
                simulator = self._simulator
                with self._failing("making the tools", simulator):
                    self._world = await self._do(partial(made_world, simulator, state), simulator)
            for body in (self._bodies[ref] for ref in self._apis if ref in self._bodies):
                if body.owner is not None and body.owner not in self._owners:
                    with self._failing("making the tools", body.owner):
                        owner = await self._do(partial(body.make_owner, state), body.owner)
                        self._owners[body.owner] = owner
                        self._to_end += [(body, owner)] if body.has_to_end else []

    async def _do(self, work: Callable[[], Any], code: object) -> Any:
        """Call a function in the thread of the trial's objects."""
        return await self._objects.do(work, self._seconds, code)

    async def answer(self, ref: ApiRef, arguments: Json) -> str:
        await self._make()
        api, provenance = self._apis[ref], ""
        body = self._bodies.get(ref)
        try:
            checks = self._world and self._world.checked if body is None else body.checked
            problem = _problem(api, arguments) if checks else ""
            if problem:
                return _answer(problem)
            if body is not None:
                provenance = body.provenance
                # Calls of functions overlap.
                code = self._code if body.owner is None else self._objects
                run = partial(code.call, seconds=self._seconds, of=body.code)
                response = await body.call(arguments, self._owners.get(body.owner), run)
            elif self._simulator is not None:
                provenance = self._simulator.label
                response = await self._simulate(self._simulator, api, arguments)
            return _answer("", response, provenance)
        except (ApiRefused, SimulationError) as error:
            return _answer(str(error))
        except Exception as error:  # noqa: BLE001 - the user's code: its fault is not the agent's
            # Code that is not promised arguments that fit may fail on others: these are the model's.
            problem = "" if isinstance(error, StuckCode) else _problem(api, arguments)
            at_fault = (self._world or self._simulator) if body is None else body.code
            return _answer(problem or self._fail(ref.title, error, at_fault))

    async def _simulate(self, simulator: Simulator, api: Api, arguments: Any) -> Json:
        if self._world is not None:
            world = self._world
            return cast("Json", await self._do(partial(world.call, api, arguments), world))
        ref = api.ref
        asking = partial(simulator.simulate, api, f"{ref.category}/{ref.tool_name}/{ref.api_name}", arguments)
        found = await self._code.wait(asking, self._seconds, simulator)
        if found.error:
            raise ApiRefused(found.error)
        return found.response

    async def end(self) -> Json:
        """Return the state of the world, or of objects with methods as tools, after the calls."""
        try:
            await self._make()
            return await self._read_state()
        finally:
            await self.let_go()

    async def let_go(self) -> None:
        """Release the state that the tools hold for the trial; again does nothing."""
        self._objects.end()
        for body, owner in self._to_end:
            await _end(self._code, partial(body.end_trial, owner))

    async def _read_state(self) -> Json:
        holders = [owner for owner in self._owners.values() if hasattr(owner, "state")]
        states: dict[str, Json] = {}
        for holder in holders if self._world is None else [self._world]:
            with self._failing("state()", holder):
                found = await self._do(holder.state, holder)
                json.dumps(found, allow_nan=False)
                states[type(holder).__name__] = found
        return next(iter(states.values())) if len(states) == 1 else states or None

    @contextmanager
    def _failing(self, name: str, code: object) -> Iterator[None]:
        """Record an exception of the user's code, which is not the agent's fault."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - recorded
            self._fail(name, error, code)

    def _fail(self, name: str, error: Exception, code: object) -> str:
        """Record a failure, and return it in words."""
        failure = tool_failure(name, error, code)
        self.failure = self.failure or failure
        return failure.message


async def _end(code: ForeignCode, ending: Callable[[], Awaitable[None]]) -> None:
    """End the tools' resources; a failure does not affect any trial."""
    try:
        await code.wait(ending, CLOSING_SECONDS)
    except Exception as error:  # noqa: BLE001 - its trials are over
        LOG.warning("a tool could not be stopped: %s: %s", type(error).__name__, error)


def _answer(error: str, response: Json = "", provenance: str = "") -> str:
    return json.dumps({"error": error, "response": response, "provenance": provenance}, allow_nan=False)


def _problem(api: Api, arguments: Json) -> str:
    """Return in words why arguments do not fit an Api's schema; empty if they do."""
    from trialbed.wire.json_schemas import schema_problems  # most runs do not need it

    problems = schema_problems(api.parameters_schema(), arguments)
    found = (f"{'.'.join(map(str, problem.path))}: {problem.message}".removeprefix(": ") for problem in problems)
    return f"Invalid arguments for {api.ref.title}: {'; '.join(found)}" if problems else ""
