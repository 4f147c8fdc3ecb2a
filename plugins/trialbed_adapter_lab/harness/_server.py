"""The server of the harness: scripted model and Apis of each trial, in a thread with an event loop of its own."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, Literal

from aiohttp import web
from starlette.types import Message

from trialbed.records import ApiRef, ToolSpec, Usage
from trialbed.tools import reply_text
from trialbed.wire import lenient_json, parse_object
from trialbed.wire.dialects import PATHS
from trialbed.wire.mcp import OfferedTools, load_sdk, serve_request
from trialbed_adapter_lab.harness._records import ObservedCall, ObservedRequest
from trialbed_adapter_lab.harness._tools import ApiReply, ScriptedTool
from trialbed_scripted import HttpServer, Line, ReceivedRequest, Response, Script, ScriptedEndpoint, Turn, fail, send
from trialbed_scripted.policies import FieldSpeaker, as_demanded

Chunks = Literal["tokens", "calls", "whole"]
"""How an answer is streamed: in pieces of a few characters as OpenAI and vLLM do, a call in each chunk, or in one."""

CHUNKS: dict[Chunks, int | None] = {"tokens": 8, "calls": sys.maxsize, "whole": None}
"""Characters of a text or of arguments in one chunk; None if the whole message is one."""

PARSE_ERROR = "Tool input parse error...\n"
"""The virtual API's answer to a ``tool_input`` that is a text and not JSON."""

RUNAWAY = 25
"""Requests beyond the step limit after which every one is refused, answered or not, so that an endless loop ends."""

PAST_LIMIT = "this trial is over: the model was asked {} times, which is all that its setting max_steps allows"


async def serve_mcp(request: web.Request, tools: OfferedTools, *, max_body: int) -> web.Response:
    """Answer one request."""
    # It takes long the first time, and other trials are served meanwhile.
    await asyncio.to_thread(load_sdk)
    body = await request.read()
    sent: list[Message] = []
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return waiting.pop() if waiting else await asyncio.get_running_loop().create_future()

    async def send(message: Message) -> None:
        sent.append(message)

    await serve_request(tools, _scope(request), receive, send, max_body=max_body)
    content = b"".join(message.get("body", b"") for message in sent[1:])
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"] if name != b"content-length"}
    return web.Response(status=sent[0]["status"], body=content, headers=headers)


def _scope(request: web.Request) -> dict[str, Any]:
    headers = [(name.lower(), value) for name, value in request.raw_headers]
    return {
        "type": "http",
        "method": request.method,
        "path": request.path,
        "query_string": b"",
        "headers": headers,
    }


class TrialSession:
    """One trial, as the server sees it: the script that it follows, and the requests that came.

    Its handlers run on the server's loop; its lists are read when the trial is over.
    """

    def __init__(
        self,
        script: Sequence[Line],
        tools: Sequence[ScriptedTool],
        *,
        max_steps: int,
        finish_tool: str = "",
        chunks: Chunks = "tokens",
    ) -> None:
        self.requests: list[ObservedRequest] = []
        self.calls: list[ObservedCall] = []
        self.strays: list[str] = []
        self._script = Script(*script)
        self._speaker = FieldSpeaker()
        self._endpoint = ScriptedEndpoint(self._say, kept=0, piece=CHUNKS[chunks])
        self._apis: dict[ApiRef, ScriptedTool] = {item.spec.api: item for item in tools}
        self._specs = [item.spec for item in tools]
        self._mcp = OfferedTools(sorted(self._specs, key=attrgetter("name")), self._call)
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
        received = self._endpoint.receive(await request.read(), request.headers, spoken)
        seen = ObservedRequest(number=received.number, received=received, tools=self._specs)
        self.requests.append(seen)
        try:
            with seen.note_end():
                response = await self._respond(seen)
                seen.error = _error_message(response)
                return await send(request, response)
        except ConnectionError:
            # The adapter has hung up in the moment in which it would have been answered.
            return web.Response()

    async def _respond(self, seen: ObservedRequest) -> Response:
        if self._steps >= self._max_steps or seen.number >= self._max_steps + RUNAWAY:
            seen.refused = True
            return fail(403, PAST_LIMIT.format(self._steps), "invalid_request_error", spoken=seen.spoken)
        self._steps += 1
        response = await self._endpoint.respond(seen.received)
        # As the gateway: a request that is not answered with 200 does not count.
        self._steps -= response.status != 200
        return response

    async def _say(self, received: ReceivedRequest) -> Turn | Response:
        """Say the next line of the script, with calls of the tools by the names under which the request offers them."""
        seen = self.requests[received.number]

        async def take_turn() -> Turn | Response:
            said = await self._script(seen)
            if isinstance(said, Response):
                return said
            turn = self._with_end(said, seen)
            calls = tuple(
                replace(call, name=seen.offered_name(call.name), id=call.id or f"call_{seen.number}_{place}")
                for place, call in enumerate(turn.calls)
            )
            return replace(turn, calls=calls)

        answer, seen.said = await self._speaker.say(received.asked, take_turn)
        seen.usage = None if seen.said is None else _usage(seen.said)
        return answer

    def _with_end(self, turn: Turn, seen: ObservedRequest) -> Turn:
        """Return a turn that ends by the adapter's finish tool, if it has one, unless it is none that ends as usual."""
        usual = turn.finish_reason == "" and not turn.refusal
        return as_demanded(turn, seen.request, self._specs, self._finish_tool) if self._finish_tool and usual else turn

    async def _api(self, request: web.Request) -> web.Response:
        body, _ = parse_object(await request.read())
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
        return await serve_mcp(request, self._mcp, max_body=HarnessServer.MAX_BODY)

    async def _call(self, tool: ToolSpec, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Make a call over MCP."""
        reply = await self._answer(self._apis[tool.api], arguments)
        if reply.status != 200:
            return f"Error: the server returned status {reply.status}", True
        return reply_text({"error": reply.error, "response": reply.response}), bool(reply.error)

    async def _answer(self, item: ScriptedTool, arguments: dict[str, Any]) -> ApiReply:
        seen = ObservedCall(number=len(self.calls), tool=item.name, arguments=arguments)
        self.calls.append(seen)
        with seen.note_end():
            reply = await item.behave(seen)
            if reply.status == 200:
                seen.reply = reply_text({"error": reply.error, "response": reply.response})
            return reply


class HarnessServer(HttpServer):
    """Serves trials below their own ``/t/<token>``: ``/v1`` with the paths of the dialects, ``/virtual`` and ``/mcp``.

    It answers even while an adapter blocks its own thread or loop.

    Attributes:
        strays: requests that belong to no trial, as ``METHOD path``.
        dialects: those in which the model was asked, in the order in which they came.
    """

    MAX_BODY = 256 * 2**20
    PATIENCE = 0.1

    def __init__(self) -> None:
        super().__init__()
        self.strays: list[str] = []
        self.dialects: list[str] = []
        self._sessions: dict[str, TrialSession] = {}

    def add(self, session: TrialSession) -> str:
        """Serve a trial; returns its URL."""
        token = secrets.token_hex(8)
        self._sessions[token] = session
        return f"{self.origin}/t/{token}"

    def clear(self) -> None:
        """End all trials."""

        def end() -> None:
            for session in self._sessions.values():
                session.end()
            self._sessions.clear()

        self.call(end)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a request of a trial."""
        root, _, rest = request.match_info["path"].partition("/")
        token, _, path = rest.partition("/")
        session = self._sessions.get(token) if root == "t" else None
        if session is None:
            self.strays.append(f"{request.method} {request.path}")
            return web.json_response({"error": {"message": "the harness has no such trial"}}, status=404)
        if (spoken := _spoken(request, path)) is not None and spoken not in self.dialects:
            self.dialects.append(spoken)
        return await session.handle(request, path)


def _error_message(response: Response) -> str:
    """Return the message of an endpoint's error; empty if the response is none."""
    error = parse_object(response.body)[0].get("error")
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) else ""


def _spoken(request: web.Request, path: str) -> str | None:
    """Return the dialect of a request to the model; None if it is another one."""
    return PATHS.get(path.removeprefix("v1/")) if request.method == "POST" and path.startswith("v1/") else None


def _input_of(body: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of a call, which may be given as JSON text; None if they are not an object."""
    given = body.get("tool_input")
    value = lenient_json(given or "{}") if isinstance(given, str) else given
    return value if isinstance(value, dict) else None


def _api_of(body: dict[str, Any]) -> ApiRef:
    names = ("category", "tool_name", "api_name")
    return ApiRef(**{name: str(body.get(name, "")) for name in names})


def _usage(turn: Turn) -> Usage | None:
    names = ("prompt_tokens", "completion_tokens")
    return None if turn.usage is None else Usage(**{name: turn.usage[name] for name in names})
