"""Serves a scripted model at an OpenAI-compatible endpoint, with faults."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import socket
import struct
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from trialbed.errors import ServerUnavailable
from trialbed.wire.dialects import CHAT, PATHS, dialect
from trialbed_scripted._requests import ReceivedRequest
from trialbed_scripted._responses import Response, fail
from trialbed_scripted._scripts import Model, ask_model
from trialbed_scripted._threads import ThreadLoop
from trialbed_scripted._turns import Turn
from trialbed_scripted.faults import Fault, FaultScript
from trialbed_scripted.vendor import SimulatedVendor

NO_TOKEN = "this server needs a bearer token: send the one of TRIALBED_SERVER_TOKEN as the API key"  # noqa: S105 - a text
MAX_BODY = 64 * 2**20

Guard = Callable[[asyncio.Protocol], asyncio.Protocol]


class ScriptedServer:
    """Serves a model: in a thread of its own (``with``), or on the running event loop (``async with``).

    Attributes:
        url: the base URL for clients; ends in ``/v1``.
        requests: those that were received, the last of them where there were very many.
        faults: the script of faults; may be replaced while it serves.
        met: how many requests met which fault.
    """

    def __init__(
        self,
        model: Model | None = None,
        faults: FaultScript | str | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        kept: int = 10_000,
        guard: Guard | None = None,
    ) -> None:
        self.url = ""
        self.requests: deque[ReceivedRequest] = deque(maxlen=kept)
        self.faults = FaultScript.read(faults) if isinstance(faults, str) else faults or FaultScript()
        self.met: Counter[str] = Counter()
        self._model = model or SimulatedVendor(self.faults.answers, self.faults.seed)
        self._address = (host, port)
        self._expected = f"Bearer {token}".encode() if token else None
        self._guard = guard
        self._received = 0
        self._attempts: dict[bytes, tuple[int, Fault]] = {}
        self._thread: ThreadLoop | None = None

    def __enter__(self) -> Self:
        self._thread = ThreadLoop("trialbed-scripted")
        try:
            self._thread.run(self.__aenter__())
        except BaseException:
            self._thread.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._thread.run(self.__aexit__(kind, error, trace))
            self._thread.close()

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=MAX_BODY)
        for path in (*PATHS, "completions"):
            application.router.add_post(f"/v1/{path}", self._handle)
        self._ended = asyncio.Event()
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        try:
            self._listener = await asyncio.get_running_loop().create_server(self._connect, *self._address, backlog=2048)
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

    def _connect(self) -> asyncio.Protocol:
        connect = self._runner.server
        if connect is None:
            raise RuntimeError("the server has ended")
        return connect() if self._guard is None else self._guard(connect())

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        spoken = PATHS.get(request.path.removeprefix("/v1/"), CHAT)
        if self._expected is not None and not hmac.compare_digest(_key_in(request), self._expected):
            refusal = fail(401, NO_TOKEN, "authentication_error", spoken=dialect(spoken))
            return await send(request, refusal, self._ended)
        response = await self._respond(await request.read(), request.headers, spoken)
        try:
            return await send(request, response, self._ended)
        except ConnectionResetError:
            # The client has left.
            return web.Response(status=499)

    async def _respond(self, body: bytes, headers: Mapping[str, str], spoken: str) -> Response:
        try:
            document = json.loads(body)
        except (ValueError, RecursionError) as error:
            return fail(400, f"not JSON: {error}", "invalid_request_error", spoken=dialect(spoken))
        if not isinstance(document, dict):
            return fail(400, "not a JSON object", "invalid_request_error", spoken=dialect(spoken))
        request, fault = self._receive(document, body, headers, spoken)
        return fault.refuse(request) or fault.change_response(await self._answer(request, fault), request)

    def _receive(
        self, document: dict[str, Any], body: bytes, headers: Mapping[str, str], spoken: str
    ) -> tuple[ReceivedRequest, Fault]:
        """Count a request, and draw the fault that it meets."""
        known = hashlib.blake2b(body, digest_size=16).digest()
        attempt, met = self._attempts.get(known, (0, Fault()))
        lowered = {name.lower(): value for name, value in headers.items()}
        repeats = met != Fault()
        request = ReceivedRequest(self._received, document, body, lowered, attempt, repeats, spoken)
        self._received += 1
        fault = self.faults.fault(request)
        self._attempts[known] = (attempt + 1, fault)
        self.requests.append(request)
        self.met[fault.name] += 1
        return request, fault

    async def _answer(self, request: ReceivedRequest, fault: Fault) -> Response:
        seen = replace(request, document=fault.shorten(request.document))
        said = await ask_model(self._model, seen)
        if isinstance(said, Response):
            return said
        return write_turn(fault.change_turn(said, seen.asked), seen, fault, self.faults.answers)


def _key_in(request: web.Request) -> bytes:
    """Return the bearer token of a request, which some SDKs send in a header of their own."""
    sent = request.headers.get("Authorization") or f"Bearer {request.headers.get('X-Api-Key', '')}"
    return sent.encode(errors="surrogateescape")


def write_turn(turn: Turn, request: ReceivedRequest, fault: Fault, answers: Mapping[str, Any]) -> Response:
    """Write a turn as the response to a request, whole or streamed."""
    answer = turn.answer(model=request.asked.model, id=turn.id or str(request.number), fingerprint="fp_scripted")
    try:
        response = Response.answer(answer, request.asked, request.spoken, flaw=fault.flaw)
    except LookupError as error:
        return fail(501, str(error), "invalid_request_error", spoken=request.spoken)
    if request.asked.stream:
        return replace(response, first=answers["first_token"], gap=answers["gap"])
    return replace(response, wait=answers["first_token"])


def serve(model: Model | None = None, *, faults: FaultScript | str | None = None, **options: Any) -> ScriptedServer:
    """Return a server of a model, to be entered with ``with`` or ``async with``.

    Args:
        model: a script, a policy, or a function that answers a request. By default one that answers anything: with a
            right call of an offered tool, or a text.
        faults: names in order (``status:429,none``), the JSON or the file of a script of faults.
        options: further arguments of ``ScriptedServer``.

    Raises:
        UsageError: the faults are not a script.
    """
    return ScriptedServer(model, faults, **options)


async def send(request: web.Request, response: Response, ended: asyncio.Event | None = None) -> web.StreamResponse:
    """Send a response to a request.

    Args:
        ended: when set, a response that never comes is given up.
    """
    await _wait(response.wait)
    if response.ending == "never":
        await (ended or asyncio.Event()).wait()
    if response.bare:
        if request.transport is not None and response.parts:
            request.transport.write(response.body)
        return _hang_up(request, response, web.Response(status=500))
    head = web.StreamResponse(
        status=response.status, headers={"Content-Type": response.content_type, **response.headers}
    )
    if response.sized:
        head.content_length = len(response.body)
    await head.prepare(request)
    for place, part in enumerate(response.parts):
        await _wait(response.first if place == 1 else response.gap if place > 1 else 0)
        await head.write(part)
    if response.ending == "complete":
        await head.write_eof()
        return head
    return _hang_up(request, response, head)


def _hang_up(request: web.Request, response: Response, sent: web.StreamResponse) -> web.StreamResponse:
    """Drop the connection: by a reset (RST), or by closing it (FIN)."""
    transport = request.transport
    if transport is not None:
        raw = transport.get_extra_info("socket")
        if response.ending == "reset" and raw is not None:
            # Closing a socket that lingers for zero seconds resets it.
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        else:
            transport.close()
    return sent


async def _wait(seconds: float) -> None:
    if seconds:
        await asyncio.sleep(seconds)
