"""HTTP to one server over connections that stay open: one request at a time on each, and nothing else.

A trial takes two such requests, for which a client of all of HTTP takes longer than the server does to answer them.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from functools import cached_property
from types import TracebackType
from typing import Any, NamedTuple, Self, cast

import httptools
from yarl import URL

IDLE = 15.0
"""Seconds after which an idle connection is not used again: something on the way may have dropped it."""

REPEATABLE = frozenset({"GET", "PUT", "DELETE"})
"""Methods of requests that may be sent twice."""

LENGTHS = frozenset({b"content-length", b"transfer-encoding"})
"""Headers that say where a body ends; without them, it ends with the connection."""


class Reply(NamedTuple):
    """The answer to a request; names of headers are in lower case."""

    status: int
    headers: Mapping[bytes, bytes]
    body: bytes


class Connections:
    """Sends requests to a server, as many at once as it is asked for; an async context manager.

    Args:
        url: the server's root.
        token: what the server asks for.
        timeout: seconds that a request may take.
    """

    def __init__(self, url: str, token: str | None = None, *, timeout: float) -> None:
        self._url = url
        self._token = token
        self._timeout = timeout
        self._idle: list[_Connection] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._idle:
            connection.close()
        self._idle.clear()
        # Sockets are closed in the loop's next turn.
        await asyncio.sleep(0)

    async def request(self, method: str, path: str, body: bytes = b"") -> Reply:
        """The server's answer, whatever its status.

        Args:
            body: JSON.

        Raises:
            OSError: there is none, or none in time.
        """
        async with asyncio.timeout(self._timeout):
            known = self._known_connection()
            if known is not None:
                try:
                    return await self._ask(known, method, path, body)
                except ConnectionError:  # which may have been closed just when this was sent
                    if method not in REPEATABLE:
                        raise
            return await self._ask(await self._new_connection(), method, path, body)

    async def _ask(self, connection: _Connection, method: str, path: str, body: bytes) -> Reply:
        try:
            reply = await connection.ask(self._address.message(method, path, body))
        except BaseException:
            connection.close()
            raise
        if connection.is_open:
            self._idle.append(connection)
        return reply

    def _known_connection(self) -> _Connection | None:
        """The open connection that was used last."""
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and now - connection.used < IDLE:
                return connection
            connection.close()
        return None

    async def _new_connection(self) -> _Connection:
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(_Connection, **self._address.place())
        except OSError:
            raise
        except ValueError as error:
            raise ConnectionError(f"this is not an address of a server: {error}") from error
        return connection

    @cached_property
    def _address(self) -> _Address:
        return _Address(self._url, self._token)


class _Address:
    """Where a server is, and how requests to it begin.

    Raises:
        ValueError: the URL is none of a server.
    """

    def __init__(self, url: str, token: str | None) -> None:
        self._url = URL(url)
        if self._url.scheme not in ("http", "https") or not self._url.raw_host:
            raise ValueError("it must begin with http:// or https:// and a host")
        self._path = self._url.raw_path.rstrip("/")
        lines = [f"Host: {self._url.host_port_subcomponent}", "Accept: */*", "User-Agent: trialbed"]
        if token:
            lines.append(f"Authorization: Bearer {token}")
        elif self._url.user:
            pair = f"{self._url.user}:{self._url.password or ''}".encode()
            lines.append(f"Authorization: Basic {base64.b64encode(pair).decode()}")
        self._lines = "\r\n".join(lines)

    def place(self) -> dict[str, Any]:
        """The host, the port, and whether it must prove itself, as an event loop takes them."""
        return {"host": self._url.raw_host, "port": self._url.port, "ssl": self._url.scheme == "https" or None}

    def message(self, method: str, path: str, body: bytes) -> bytes:
        """A whole request."""
        head = f"{method} {self._path}{path} HTTP/1.1\r\n{self._lines}\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        elif method != "GET":
            head += "Content-Length: 0\r\n"
        return f"{head}\r\n".encode() + body


class _Connection(asyncio.Protocol):
    """One connection. It closes itself where its answer does not allow for another."""

    used = 0.0
    """When it was used last, on the loop's clock."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[Reply] | None = None
        self._begin()

    @property
    def is_open(self) -> bool:
        """Whether another request can be sent."""
        return not self._transport.is_closing()

    def close(self) -> None:
        """End it."""
        self._transport.abort()

    async def ask(self, message: bytes) -> Reply:
        """The answer to a request.

        Raises:
            ConnectionError: the connection ended first, or what came is not HTTP.
        """
        self._parser = httptools.HttpResponseParser(self)
        self._answer = self._loop.create_future()
        self._begin()
        self._transport.write(message)
        try:
            return await self._answer
        finally:
            # An idle connection keeps no answer.
            self._answer = None
            self._begin()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is there."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """A piece of an answer has come."""
        if self._answer is None or self._answer.done():  # of one that nothing was asked for
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(f"what it answers is not HTTP: {error}")
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        if exc is None and self._ends_with_connection:
            self._complete()
        self._fail(f"it has closed the connection{f': {exc}' if exc else ''}")

    def on_message_begin(self) -> None:
        """An answer begins, which may be one more than was asked for."""
        if self._answer is None or self._answer.done():
            self.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header has come."""
        self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """The body begins."""
        self._ends_with_connection = not LENGTHS & self._headers.keys()

    def on_body(self, body: bytes) -> None:
        """A piece of the body has come."""
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        """The answer is complete, unless it only announced another."""
        if self._parser.get_status_code() < 200:
            self._begin()
            return
        self._complete()
        self.used = self._loop.time()
        if not self._parser.should_keep_alive():
            self._transport.close()

    def _begin(self) -> None:
        self._headers: dict[bytes, bytes] = {}
        self._pieces: list[bytes] = []
        self._ends_with_connection = False

    def _complete(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(Reply(self._parser.get_status_code(), self._headers, b"".join(self._pieces)))

    def _fail(self, reason: str) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionResetError(reason))
