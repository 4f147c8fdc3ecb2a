"""HTTP for scripted endpoints: a server on the running loop or in a thread, and responses down to their bytes."""

from __future__ import annotations

import asyncio
import socket
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import ClassVar, Self, TypeVar

from aiohttp import web
from anyio.from_thread import BlockingPortal, start_blocking_portal

from trialbed.errors import ServerUnavailable
from trialbed_scripted._responses import Response

BACKLOG = 2048

Result = TypeVar("Result")


class HttpServer(ABC):
    """Serves requests: in a thread of its own (``with``), or on the running event loop (``async with``).

    Attributes:
        address: host and port.
        ended: set at the end.
    """

    ROUTES: ClassVar[Sequence[tuple[str, str]]] = (("*", "/{path:.*}"),)
    """Methods and paths that are served."""

    MAX_BODY: ClassVar[int] = 64 * 2**20
    PATIENCE: ClassVar[float] = 0.5
    """Seconds for which requests are still answered at the end."""

    HEAD_SECONDS, BODY_SECONDS = 60.0, 120.0
    """Seconds in which the first head of a connection must arrive, and a body after its head."""

    ended: asyncio.Event

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.address: tuple[str, int] = (host, port)
        self._portal: BlockingPortal | None = None
        self._silent: dict[asyncio.Protocol | None, asyncio.TimerHandle] = {}

    @abstractmethod
    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a request; cancelled when its client leaves."""

    @property
    def origin(self) -> str:
        """The address as a URL without a path."""
        host, port = self.address
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def call(self, function: Callable[[], Result]) -> Result:
        """Call a function in the thread that serves, and return its result."""
        if self._portal is None:
            raise RuntimeError("no thread serves")
        return self._portal.call(function)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(self._portal.wrap_async_context_manager(self))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal = None
        self._stack.close()

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=self.MAX_BODY)
        for method, path in self._routes():
            application.router.add_route(method, path, self._serve)
        self.ended = asyncio.Event()
        self._runner = web.AppRunner(
            application, access_log=None, handler_cancellation=True, shutdown_timeout=self.PATIENCE
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
        self.ended.set()
        self._listener.close()
        await self._runner.cleanup()

    def _routes(self) -> Sequence[tuple[str, str]]:
        return self.ROUTES

    def _connect(self) -> asyncio.Protocol:
        """Accept a connection, which ends if no request comes."""
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
        if first := self._silent.pop(request.protocol, None):
            first.cancel()
        try:
            async with asyncio.timeout(self.BODY_SECONDS):
                await request.read()
        except TimeoutError:
            raise web.HTTPRequestTimeout from None
        return await self.handle(request)


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
