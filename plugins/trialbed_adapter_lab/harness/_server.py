"""The server of the harness: scripted model and Apis of each trial, in a thread with an event loop of its own."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from aiohttp import web

from trialbed.records import ApiRef
from trialbed.wire import read_served
from trialbed.wire.dialects import PATHS
from trialbed.wire.dialects.responses import KeptResponses, ResponsesRequest
from trialbed_adapter_lab.harness._mcp import OfferedTools, serve_mcp
from trialbed_adapter_lab.harness._records import ObservedCall, ObservedRequest
from trialbed_adapter_lab.harness._tools import ApiReply, ScriptedTool
from trialbed_scripted import Line, Response, Script, ThreadLoop, Turn, fail, send
from trialbed_scripted.policies import as_demanded

HOST = "127.0.0.1"
STARTING = 30.0
"""Seconds that the server has to start; it takes a few milliseconds."""

LARGEST_BODY = 256 * 1024**2

PARSE_ERROR = "Tool input parse error...\n"
"""The virtual API's answer to a ``tool_input`` that is a text and not JSON."""

RUNAWAY = 25
"""Requests beyond the step limit after which every one is refused, answered or not, so that an endless loop ends."""

PAST_LIMIT = "this trial is over: the model was asked {} times, which is all that its setting max_steps allows"

UNKNOWN_RESPONSE = "previous_response_not_found"
"""The code of an error about a response that a request follows, and that was not given."""

Result = TypeVar("Result")


class TrialSession:
    """One trial, as the server sees it: the script that it follows, and the requests that came.

    Its handlers run on the server's loop; its lists are read when the trial is over.
    """

    def __init__(
        self, script: Sequence[Line], tools: Sequence[ScriptedTool], *, max_steps: int, finish_tool: str = ""
    ) -> None:
        self.requests: list[ObservedRequest] = []
        self.calls: list[ObservedCall] = []
        self.strays: list[str] = []
        self._script = Script(*script)
        self._kept = KeptResponses()
        self._apis: dict[ApiRef, ScriptedTool] = {item.spec.api: item for item in tools}
        self._specs = [item.spec for item in tools]
        self._mcp = OfferedTools(tools, self._answer)
        self._max_steps = max_steps
        self._finish_tool = finish_tool
        self._steps = 0
        self._connections: set[asyncio.Transport] = set()
        self._handling: set[asyncio.Task[Any]] = set()

    @property
    def open_connections(self) -> int:
        """Connections to the model that the adapter has not closed."""
        return sum(not transport.is_closing() for transport in self._connections)

    @property
    def connections(self) -> int:
        """Connections to the model, open or closed."""
        return len(self._connections)

    def end(self) -> None:
        """Cancel every request that is still being answered."""
        for task in self._handling:
            task.cancel()

    async def handle(self, request: web.Request, path: str) -> web.StreamResponse:
        """Answer one request of the trial."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a handler runs in a task
        self._handling.add(task)
        try:
            if (spoken := _spoken(request, path)) is not None:
                return await self._model(request, spoken)
            if request.method == "POST" and path == "virtual":
                return await self._api(request)
            if path == "mcp":
                return await self._mcp_request(request)
            self.strays.append(f"{request.method} /{path}")
            return web.json_response({"error": {"message": f"the harness does not serve /{path}"}}, status=404)
        finally:
            self._handling.discard(task)

    async def _model(self, request: web.Request, spoken: str) -> web.StreamResponse:
        if isinstance(request.transport, asyncio.Transport):
            self._connections.add(request.transport)
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = _object(await request.read())
        number = len(self.requests)
        seen = ObservedRequest(number=number, body=body, headers=headers, tools=self._specs, dialect=spoken)
        self.requests.append(seen)
        try:
            with seen.note_end():
                reply = await self._reply(seen)
                response = reply if isinstance(reply, Response) else _response(self._with_end(reply, seen), seen)
                self._keep(seen, response)
                return await send(request, response)
        except ConnectionError:
            # The adapter has hung up in the moment in which it would have been answered.
            return web.Response()

    def _with_end(self, turn: Turn, seen: ObservedRequest) -> Turn:
        """Return a turn that ends by the adapter's finish tool, if it has one, unless it is none that ends as usual."""
        usual = turn.finish_reason == "" and not turn.refusal
        return as_demanded(turn, seen.request, self._specs, self._finish_tool) if self._finish_tool and usual else turn

    def _keep(self, seen: ObservedRequest, response: Response) -> None:
        """Keep a response, where its dialect lets another request follow it."""
        if isinstance(seen.request, ResponsesRequest) and response.status == 200:
            reading = read_served(seen.dialect, response.body, seen.request, stream=seen.request.stream)
            self._kept.keep(seen.request, reading.response, len(response.body))

    async def _reply(self, seen: ObservedRequest) -> Turn | Response:
        refusal = self._refusal(seen)
        # As the gateway: a request that is not answered with 200 does not count.
        if self._steps >= self._max_steps or seen.number >= self._max_steps + RUNAWAY:
            seen.refused = True
            return fail(403, PAST_LIMIT.format(self._steps), "invalid_request_error", spoken=seen.spoken)
        if refusal is not None:
            return refusal
        self._steps += 1
        reply = await self._script(seen)
        self._steps -= isinstance(reply, Response) and reply.status != 200
        return reply

    def _refusal(self, seen: ObservedRequest) -> Response | None:
        """Give a request its earlier conversation; return the answer to one that vendors refuse, as the gateway."""
        request, code = seen.request, None
        if isinstance(request, ResponsesRequest) and not self._kept.follow(request):
            problem, code = f"Previous response with id '{request.follows[:100]}' not found.", UNKNOWN_RESPONSE
        else:
            problem = request.conflict
        return fail(400, problem, "invalid_request_error", code=code, spoken=seen.spoken) if problem else None

    async def _api(self, request: web.Request) -> web.Response:
        body = _object(await request.read())
        item = self._apis.get(_api_of(body))
        if item is None:
            self.strays.append(f"a call of an Api that is not offered: {json.dumps(body)[:200]}")
            return web.json_response({"error": "this Api does not exist", "response": ""})
        arguments = _input_of(body)
        if arguments is None:
            self.strays.append(
                f"a call of {item.name} with an input that is not a JSON object: {json.dumps(body)[:200]}"
            )
            return web.json_response({"error": PARSE_ERROR, "response": ""})
        reply = await self._answer(item, arguments)
        if reply.status != 200:
            return web.Response(status=reply.status, text="the harness's Api is broken")
        return web.json_response({"error": reply.error, "response": reply.response})

    async def _mcp_request(self, request: web.Request) -> web.Response:
        if request.method != "POST":
            # As Trialbed's server, which has no sessions and sends nothing by itself.
            return web.Response(status=405)
        return await serve_mcp(request, self._mcp, max_body=LARGEST_BODY)

    async def _answer(self, item: ScriptedTool, arguments: dict[str, Any]) -> ApiReply:
        seen = ObservedCall(number=len(self.calls), tool=item.name, arguments=arguments)
        self.calls.append(seen)
        with seen.note_end():
            return await item.behave(seen)


class HarnessServer:
    """Serves trials below their own ``/t/<token>``: ``/v1`` with the paths of the dialects, ``/virtual`` and ``/mcp``.

    It answers even while an adapter blocks its own thread or loop.

    Attributes:
        strays: requests that belong to no trial, as ``METHOD path``.
        dialects: those in which the model was asked, in the order in which they came.
    """

    def __init__(self) -> None:
        self.strays: list[str] = []
        self.dialects: list[str] = []
        self._sessions: dict[str, TrialSession] = {}
        self._thread = ThreadLoop("trialbed-harness")
        try:
            self.port = self._thread.run(self._start(), STARTING)
        except BaseException:
            self._thread.close()
            raise

    def add(self, session: TrialSession) -> str:
        """Serve a trial; returns its URL."""
        token = secrets.token_hex(8)
        self._sessions[token] = session
        return f"http://{HOST}:{self.port}/t/{token}"

    def call(self, function: Callable[[], Result]) -> Result:
        """Call a function on the server's loop, and return its result."""

        async def run() -> Result:
            return function()

        return self._thread.run(run(), STARTING)

    def clear(self) -> None:
        """End all trials."""

        def end() -> None:
            for session in self._sessions.values():
                session.end()
            self._sessions.clear()

        self.call(end)

    def close(self) -> None:
        """Stop serving."""
        if self._thread.runs:
            self._thread.run(self._runner.cleanup())
            self._thread.close()

    async def _start(self) -> int:
        app = web.Application(client_max_size=LARGEST_BODY)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, 0, backlog=1024).start()
        return int(self._runner.addresses[0][1])

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        root, _, rest = request.match_info["path"].partition("/")
        token, _, path = rest.partition("/")
        session = self._sessions.get(token) if root == "t" else None
        if session is None:
            self.strays.append(f"{request.method} {request.path}")
            return web.json_response({"error": {"message": "the harness has no such trial"}}, status=404)
        if (spoken := _spoken(request, path)) is not None and spoken not in self.dialects:
            self.dialects.append(spoken)
        return await session.handle(request, path)


def _spoken(request: web.Request, path: str) -> str | None:
    """Return the dialect of a request to the model; None if it is another one."""
    return PATHS.get(path.removeprefix("v1/")) if request.method == "POST" and path.startswith("v1/") else None


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _input_of(body: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of a call, which may be given as JSON text; None if they are not an object."""
    given = body.get("tool_input")
    try:
        value = json.loads(given or "{}") if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _api_of(body: dict[str, Any]) -> ApiRef:
    names = ("category", "tool_name", "api_name")
    return ApiRef(**{name: str(body.get(name, "")) for name in names})


def _response(turn: Turn, seen: ObservedRequest) -> Response:
    """Write the turn, with the tools by the names under which the request offers them."""
    calls = tuple(replace(call, name=seen.offered_name(call.name)) for call in turn.calls)
    answer = replace(turn, calls=calls).answer(
        call_id=f"call_{seen.number}_{{}}".format, id=str(seen.number), model=str(seen.body.get("model"))
    )
    # A few events are enough for a framework that always streams.
    return Response.answer(answer, seen.request, seen.spoken, piece=None)
