"""A scripted model behind a server, which sends responses byte by byte, up to the end of the connection."""

from __future__ import annotations

import asyncio
import hmac
import json
import signal
import socket
import struct
import sys
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from anyio.from_thread import start_blocking_portal

from trialbed.errors import ServerUnavailable
from trialbed.wire.addresses import SCRIPT
from trialbed.wire.dialects import CHAT, PATHS, dialect
from trialbed_scripted._endpoint import ScriptedEndpoint
from trialbed_scripted._scripts import Model, Response, Script, fail
from trialbed_scripted.faults import FaultScript, atlas


async def send(request: web.Request, response: Response, ended: asyncio.Event) -> web.StreamResponse:
    """Send a response to a request.

    Args:
        ended: when set, stops waiting for a response that never comes.
    """
    await _wait(response.wait)
    if response.ending == "never":
        await ended.wait()
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
    """Drop the connection with a reset (RST) or a close (FIN)."""
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


NO_TOKEN = "this server needs a bearer token: send the one of TRIALBED_SERVER_TOKEN as the API key"  # noqa: S105 - a text

BACKLOG = 2048
MAX_BODY = 64 * 2**20

PATIENCE = 0.5
"""Seconds for pending requests at shutdown."""


class ScriptedServer(ScriptedEndpoint):
    """Serves a model, in its own thread (``with``) or on the running event loop (``async with``).

    Attributes:
        address: host and port.
    """

    HEAD_SECONDS, BODY_SECONDS = 60.0, 120.0
    """Timeouts for the first head on a connection, and for a body after its head."""

    def __init__(
        self,
        model: Model | None = None,
        faults: FaultScript | str | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        kept: int = 10_000,
    ) -> None:
        super().__init__(model, faults, kept=kept)
        self.address: tuple[str, int] = (host, port)
        self._expected = f"Bearer {token}".encode() if token else None
        self._silent: dict[asyncio.Protocol | None, asyncio.TimerHandle] = {}

    @property
    def origin(self) -> str:
        """The address as a URL without a path."""
        host, port = self.address
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    @property
    def url(self) -> str:
        """The base URL for clients, ending in ``/v1``."""
        return f"{self.origin}/v1"

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(self))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=MAX_BODY)
        for method, path in self._routes():
            application.router.add_route(method, path, self._serve)
        self._ended = asyncio.Event()
        self._runner = web.AppRunner(
            application,
            access_log=None,
            handler_cancellation=True,
            shutdown_timeout=PATIENCE,
            lingering_time=min(10.0, self.BODY_SECONDS),
        )
        await self._runner.setup()
        try:
            self._listener = await asyncio.get_running_loop().create_server(
                self._connect, *self.address, backlog=BACKLOG
            )
        except (OSError, OverflowError) as error:
            await self._runner.cleanup()
            host, port = self.address
            raise ServerUnavailable(
                f"cannot listen on {host} port {port}: {error}; choose another --port (0 picks a free one)"
            ) from error
        self.address = self._listener.sockets[0].getsockname()[:2]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._listener.close()
        await self._runner.cleanup()

    def _routes(self) -> list[tuple[str, str]]:
        listed = [("GET", "/v1/models")] if isinstance(self._model, Script) else []
        roots = ["/v1", *(f"/{name}/v1" for name in atlas() if self.faults.by_path)]
        return [("POST", f"{root}/{path}") for root in roots for path in (*PATHS, "completions")] + listed

    def _connect(self) -> asyncio.Protocol:
        """Accept a connection and close it later if no request comes."""
        if self._runner.server is None:
            raise RuntimeError("the server has ended")
        connection = self._runner.server()
        end = asyncio.get_running_loop().call_later(self.HEAD_SECONDS, self._end_silent, connection)
        self._silent[connection] = end
        return connection

    def _end_silent(self, connection: web.RequestHandler) -> None:
        del self._silent[connection]
        connection.force_close()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        """Answer a request to the model or for the list of models. It is cancelled if the client leaves."""
        if first := self._silent.pop(request.protocol, None):
            first.cancel()
        try:
            async with asyncio.timeout(self.BODY_SECONDS):
                body = await request.read()
        except TimeoutError:
            raise web.HTTPRequestTimeout from None
        if request.method == "GET":
            return web.json_response({"object": "list", "data": [{"id": SCRIPT, "object": "model"}]})
        place, _, path = request.path.removeprefix("/").rpartition("v1/")
        spoken = PATHS.get(path, CHAT)
        if self._expected is not None and not hmac.compare_digest(_key_in(request), self._expected):
            refusal = fail(401, NO_TOKEN, "authentication_error", spoken=dialect(spoken))
            return await send(request, refusal, self._ended)
        response = await self.respond(self.receive(body, request.headers, spoken, place.rstrip("/")))
        try:
            return await send(request, response, self._ended)
        except ConnectionResetError:
            # The client has left.
            return web.Response(status=499)


def serve(model: Model | None = None, *, faults: FaultScript | str | None = None, **options: Any) -> ScriptedServer:
    """Return a server for a model, to be entered with ``with`` or ``async with``.

    Args:
        model: a script, a policy, or a function that answers a request. The default model answers any request with a
            right call to an offered tool, or with a text.
        faults: names in order (``status:429,none``), or a script of faults as JSON or a file.
        options: further arguments of ``ScriptedServer``.

    Raises:
        UsageError: the faults are not a script.
    """
    return ScriptedServer(model, faults, **options)


def _key_in(request: web.Request) -> bytes:
    """Return the bearer token of a request. Some SDKs send it in another header."""
    sent = request.headers.get("Authorization") or f"Bearer {request.headers.get('X-Api-Key', '')}"
    return sent.encode(errors="surrogateescape")


def serve_until_stopped(server: ScriptedServer) -> None:
    """Serve until SIGINT or SIGTERM. Prints ``{"url": …}`` once the server listens.

    Raises:
        ServerUnavailable: the address cannot be listened on.
    """
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(server))


async def _serve(server: ScriptedServer) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        # Windows event loops have no signal handlers. Ctrl-C raises an exception there.
        with suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with server:
        sys.stdout.write(json.dumps({"url": server.url}) + "\n")
        sys.stdout.flush()
        await ended.wait()
