"""The server: an OpenAI-compatible endpoint that does to each request what the script says."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import socket
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from trialbed.errors import ServerUnavailable
from trialbed.wire import DONE_EVENT, event_bytes
from trialbed.wire.dialects.chat_completions import Completion, write_error
from trialbed_scripted.faults._answers import right_answer
from trialbed_scripted.faults._behaviours import refused_parameter, seen_by
from trialbed_scripted.faults._changes import (
    changed,
    changed_chunks,
    changed_document,
    repeated_chunks,
    repeated_document,
)
from trialbed_scripted.faults._obedience import solved, with_logprobs
from trialbed_scripted.faults._script import Fault, FaultScript
from trialbed_scripted.faults._solutions import Solutions

PAGE = "<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>"
NO_TOKEN = "this server needs a bearer token: send the one of TRIALBED_SERVER_TOKEN as the API key"  # noqa: S105 - a text
MAX_BODY = 64 * 2**20
EVENTS = "text/event-stream"


class FaultServer:
    """An async context manager that serves a script; ``url`` ends in ``/v1``.

    Args:
        token: bearer token that requests must carry; None for none.
        guard: wraps the protocol of each connection, such as one that ends a connection whose request does not arrive.

    Attributes:
        requests: how many requests met which fault.
    """

    def __init__(
        self,
        script: FaultScript,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        guard: Callable[[asyncio.Protocol], asyncio.Protocol] | None = None,
    ) -> None:
        self.requests: Counter[str] = Counter()
        self.url = ""
        self._script = script
        self._solutions = Solutions.read(script.answers["test_set"])
        self._address = (host, port)
        self._guard = guard
        self._expected = f"Bearer {token}".encode() if token else None
        self._attempts: Counter[bytes] = Counter()
        application = web.Application(client_max_size=MAX_BODY)
        application.router.add_post("/v1/chat/completions", self._handle)
        application.router.add_post("/v1/completions", self._handle)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
        self._ended = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        try:
            self._listener = await asyncio.get_running_loop().create_server(
                self._connection, *self._address, backlog=2048
            )
        except (OSError, OverflowError) as error:
            await self._runner.cleanup()
            host, port = self._address
            raise ServerUnavailable(
                f"cannot listen on {host} port {port}: {error}; choose another --port (0 picks a free one)"
            ) from error
        host, port = self._listener.sockets[0].getsockname()[:2]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._listener.close()
        await self._runner.cleanup()

    def _connection(self) -> asyncio.Protocol:
        connect = self._runner.server
        if connect is None:
            raise RuntimeError("a fault server is an async context manager; enter it first")
        return connect() if self._guard is None else self._guard(connect())

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        sent = request.headers.get("Authorization", "").encode(errors="surrogateescape")
        if self._expected is not None and not hmac.compare_digest(sent, self._expected):
            return web.json_response(write_error(NO_TOKEN, "authentication_error", code="401"), status=401)
        body = await request.read()
        document, refusal = _parsed(body)
        if refusal:
            return web.json_response(write_error(refusal, "invalid_request_error", code="400"), status=400)
        known = hashlib.blake2b(body, digest_size=16).digest()
        attempt = self._attempts[known]
        self._attempts[known] += 1
        fault = self._script.fault(body, attempt)
        self.requests[fault.name] += 1
        answers = self._script.answers
        refused = refused_parameter(fault, document)
        if refused is not None:
            message = f"the parameter {refused!r} is not supported"
            return web.json_response(write_error(message, "invalid_request_error", code="400"), status=400)
        seen, inverted = seen_by(fault, document), self._script.inverts(body, attempt)
        solution = self._solutions.of(document)
        if solution is None:
            right = right_answer(seen, answers["share"], inverted=inverted)
        else:
            right = solved(solution, seen, self._script.chance(body, attempt), inverted=inverted)
        # Every answer has an id of its own, as a vendor's have that does not answer from a cache.
        right = replace(with_logprobs(right, seen), identity=f"{right.identity}-{attempt}")
        completion = changed(right, fault).completion()
        try:
            return await self._answer(request, seen, completion, fault)
        except ConnectionResetError:
            # The client has left.
            return web.Response(status=499)

    async def _answer(
        self, request: web.Request, document: Mapping[str, Any], completion: Completion, fault: Fault
    ) -> web.StreamResponse:
        match fault.name:
            case "silent":
                await self._ended.wait()
                return web.Response(status=503)
            case "status" | "echo_key":
                return _refusal(request, fault)
            case "reset_before" | "close_before":
                return _hang_up(request, reset=fault.name == "reset_before")
            case "html":
                return web.Response(text=PAGE, content_type="text/html")
            case "empty":
                kind = EVENTS if document.get("stream") else "application/json"
                return web.Response(body=b"", content_type=kind)
            case "error_body":
                return web.json_response(write_error("the model is overloaded", "server_error", code="500"))
            case "slow":
                await self._wait(fault.settings["seconds"])
        if document.get("stream"):
            chunks = repeated_chunks(completion.chunks(), _number(document))
            return await self._stream(request, changed_chunks(chunks, fault), fault)
        whole = repeated_document(completion.document(), _number(document))
        return await self._document(request, changed_document(whole, fault), fault)

    async def _document(self, request: web.Request, document: dict[str, Any], fault: Fault) -> web.StreamResponse:
        await self._wait(self._script.answers["first_token"])
        data = json.dumps(document).encode()
        if fault.name in ("reset_midstream", "cut_stream", "truncated"):
            return await self._broken_off(request, data, fault)
        return web.Response(body=data, content_type="application/json")

    async def _broken_off(self, request: web.Request, data: bytes, fault: Fault) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(data[: len(data) // 2])
        if fault.name == "truncated":
            await response.write_eof()
            return response
        return _hang_up(request, reset=fault.name == "reset_midstream", response=response)

    async def _stream(self, request: web.Request, chunks: list[dict[str, Any]], fault: Fault) -> web.StreamResponse:
        answers = self._script.answers
        kind = "text/plain" if fault.name == "wrong_content_type" else EVENTS
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(request)
        for number, chunk in enumerate(chunks):
            if number == 1:
                await self._wait(answers["first_token"])
            elif number > 1:
                await self._wait(answers["gap"])
            if number == len(chunks) // 2 and fault.name in MIDWAY:
                return await _midway(request, response, fault)
            await response.write(event_bytes(chunk))
        if fault.name not in ("no_done", "truncated"):
            await response.write(DONE_EVENT)
        await response.write_eof()
        return response

    async def _wait(self, seconds: float) -> None:
        if seconds:
            await asyncio.sleep(seconds)


MOST_CHOICES = 128

MIDWAY = ("reset_midstream", "cut_stream", "malformed_event", "error_event")


async def _midway(request: web.Request, response: web.StreamResponse, fault: Fault) -> web.StreamResponse:
    if fault.name in ("reset_midstream", "cut_stream"):
        return _hang_up(request, reset=fault.name == "reset_midstream", response=response)
    error = event_bytes(write_error("the model failed", "server_error", code="500"))
    event = b'data: {"choices": [{"delta"\n\n' if fault.name == "malformed_event" else error
    await response.write(event + DONE_EVENT)
    await response.write_eof()
    return response


def _refusal(request: web.Request, fault: Fault) -> web.Response:
    status = fault.settings["status"]
    said = request.headers.get("Authorization", "") if fault.name == "echo_key" else ""
    wait = fault.settings.get("retry_after")
    headers = {"Retry-After": f"{wait:g}"} if wait else {}
    message = f"simulated status {status} {said}".strip()
    return web.json_response(write_error(message, "scripted_error", code=str(status)), status=status, headers=headers)


def _hang_up(request: web.Request, *, reset: bool, response: web.StreamResponse | None = None) -> web.StreamResponse:
    """Drop the connection: by a reset (RST), or by closing it (FIN)."""
    transport = request.transport
    if transport is not None:
        raw = transport.get_extra_info("socket")
        if reset and raw is not None:
            # Closing a socket that lingers for zero seconds resets it.
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        else:
            transport.close()
    return response or web.Response(status=500)


def _number(document: Mapping[str, Any]) -> int:
    """How many choices a request asks for."""
    number = document.get("n")
    return min(max(number, 1), MOST_CHOICES) if isinstance(number, int) else 1


def _parsed(body: bytes) -> tuple[dict[str, Any], str]:
    """A request, or why the body is not one."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        return {}, f"not JSON: {error}"
    return (document, "") if isinstance(document, dict) else ({}, "not a JSON object")
