"""One trial on the stage, as its server sees it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from trialbed.records import ApiRef
from trialbed_adapter_kit._recording import ModelRequest, ToolCall
from trialbed_adapter_kit._script import Line, Raw, Said, Script
from trialbed_adapter_kit._tools import StageTool

RUNAWAY = 25
"""Requests beyond the step limit after which the model refuses, so that a loop without end has one."""


class Scene:
    """What is played in one trial, and what was seen of it.

    Its handlers run on the server's loop; its lists are read when the trial is over.
    """

    def __init__(self, script: Sequence[Line], tools: Sequence[StageTool], *, max_steps: int) -> None:
        self.requests: list[ModelRequest] = []
        self.calls: list[ToolCall] = []
        self.strays: list[str] = []
        self._script = Script(script)
        self._apis: dict[ApiRef, StageTool] = {item.spec.api: item for item in tools}
        self._last_request = max_steps + RUNAWAY
        self._connections: set[asyncio.Transport] = set()
        self._handling: set[asyncio.Task[Any]] = set()

    @property
    def open_connections(self) -> int:
        """Connections to the model that the adapter has not closed."""
        return sum(not transport.is_closing() for transport in self._connections)

    @property
    def connections(self) -> int:
        """Connections to the model that there were."""
        return len(self._connections)

    def end(self) -> None:
        """Break off whatever is still being answered."""
        for task in self._handling:
            task.cancel()

    async def handle(self, request: web.Request, path: str) -> web.StreamResponse:
        """Answer one request of the trial."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a handler runs in a task
        self._handling.add(task)
        try:
            if request.method == "POST" and path == "v1/chat/completions":
                return await self._model(request)
            if request.method == "POST" and path == "virtual":
                return await self._api(request)
            self.strays.append(f"{request.method} /{path}")
            return web.json_response({"error": {"message": f"the stage has no /{path}"}}, status=404)
        finally:
            self._handling.discard(task)

    async def _model(self, request: web.Request) -> web.StreamResponse:
        if isinstance(request.transport, asyncio.Transport):
            self._connections.add(request.transport)
        headers = {name.lower(): value for name, value in request.headers.items()}
        seen = ModelRequest(len(self.requests), _object(await request.read()), headers, time.perf_counter())
        self.requests.append(seen)
        try:
            reply = await self._line(seen)
        except asyncio.CancelledError:
            seen.dropped = True
            raise
        response = await _written(request, reply, seen)
        seen.ended = time.perf_counter()
        return response

    async def _line(self, seen: ModelRequest) -> Said | Raw:
        if seen.number >= self._last_request:
            return Raw(500, json.dumps({"error": {"message": "the stage has been asked far too often"}}))
        return await self._script.line(seen)

    async def _api(self, request: web.Request) -> web.Response:
        body = _object(await request.read())
        item = self._apis.get(_api_of(body))
        if item is None:
            self.strays.append(f"a call of an Api that is not offered: {json.dumps(body)[:200]}")
            return web.json_response({"error": "there is no such Api", "response": ""})
        seen = ToolCall(len(self.calls), item.name, body["tool_input"], time.perf_counter())
        self.calls.append(seen)
        try:
            reply = await item.behave(seen)
        except asyncio.CancelledError:
            seen.dropped = True
            raise
        seen.ended = time.perf_counter()
        if reply.status != 200:
            return web.Response(status=reply.status, text="the stage's Api is broken")
        return web.json_response({"error": reply.error, "response": reply.response})


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _api_of(body: dict[str, Any]) -> ApiRef:
    names = ("category", "tool_name", "api_name")
    return ApiRef(**{name: str(body.get(name, "")) for name in names})


async def _written(request: web.Request, reply: Said | Raw, seen: ModelRequest) -> web.StreamResponse:
    if isinstance(reply, Raw):
        return web.Response(status=reply.status, text=reply.body, content_type=reply.content_type)
    document = reply.completion(seen.number, str(seen.body.get("model")))
    if not seen.body.get("stream"):
        return web.json_response(document)
    return await _streamed(request, document, bool((seen.body.get("stream_options") or {}).get("include_usage")))


async def _streamed(request: web.Request, document: dict[str, Any], with_usage: bool) -> web.StreamResponse:
    """The completion as a stream of two or three events, for a framework that cannot do without."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for chunk in _chunks(document, with_usage):
        await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response


def _chunks(document: dict[str, Any], with_usage: bool) -> list[dict[str, Any]]:
    (choice,) = document["choices"]
    calls = [{**wanted, "index": index} for index, wanted in enumerate(choice["message"].get("tool_calls", []))]
    delta = choice["message"] | ({"tool_calls": calls} if calls else {})
    common = {"id": document["id"], "object": "chat.completion.chunk", "created": 1, "model": document["model"]}
    chunks = [
        {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
    ]
    return [*chunks, {**common, "choices": [], "usage": document.get("usage")}] if with_usage else chunks
