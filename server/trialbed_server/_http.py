"""HTTP of the server: its connections, the checks of requests, their bodies, and responses; and its own client."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import lru_cache
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, cast

from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from trialbed.wire.addresses import HostNames
from trialbed.wire.dialects import dialect, dialect_at
from trialbed_server._options import ServerOptions
from trialbed_server.trials import OpenTrial, TrialRefused, TrialRegistry

JOINED = 64 * 1024
"""Bytes that are sent before the next turn of the loop."""


class JoiningTransport:
    """Sends all bytes of one turn of the loop together, such as the head of a response and its body."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._written = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send some bytes with all that is written before the next turn."""
        if not self._written:
            asyncio.get_running_loop().call_soon(self._send)
        self._written += data
        if len(self._written) > JOINED:
            # Keep nothing large here, because the transport's own limit does not count it.
            self._send()

    def close(self) -> None:
        """Send all written bytes, and end the connection."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        written, self._written = self._written, b""
        if written and not self._transport.is_closing():
            self._transport.write(written)


class BoundedProtocol(HttpToolsProtocol):
    """Close connections with requests that do not arrive; half a head or half a body keeps no connection open for long.

    A body's size is limited by its reader, and idle connections are closed by uvicorn's ``timeout_keep_alive``. A
    request that comes in one piece needs no deadline, and most do.

    Attributes:
        head_seconds: from the connection, or the first byte of a later request, to the end of the head.
        body_seconds: from the end of the head to the end of the body.
        head_bytes: largest head. Heads that come in one piece with their end are not counted.
    """

    head_seconds = 60.0
    body_seconds = 120.0
    head_bytes = 64 * 1024

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._timer: asyncio.TimerHandle | None = None
        self._part: Literal["", "head", "body"] = ""
        self._requests = 0
        self._head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """The client has connected, and is expected to ask."""
        super().connection_made(cast("asyncio.Transport", JoiningTransport(transport)))
        self._expect("head")

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._expect("")
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read the bytes that have come."""
        part, requests = self._part, self._requests
        super().data_received(data)
        began = self._requests != requests
        if not self._part and (began or part):
            self._expect("")
        elif not self._part:
            if self._timer is None and (self.cycle is None or self.cycle.response_complete):
                # Empty lines before a request begin none, but end uvicorn's own wait for one.
                self._expect("head")
        elif began or self._part != part:
            self._head = 0
            self._expect(self._part)
        elif part == "head":
            self._head += len(data)
            if self._head > self.head_bytes:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"the head exceeds {self.head_bytes} bytes")

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._part = "head"
        self._requests += 1

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._part = "body"
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is complete."""
        self._part = ""
        super().on_message_complete()

    def _expect(self, part: Literal["", "head", "body"]) -> None:
        """Expect the rest of a head or a body in time, or nothing."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if part:
            seconds = self.head_seconds if part == "head" else self.body_seconds
            reason = f"the {part} of the request did not arrive within {seconds:g} s"
            self._timer = self.loop.call_later(seconds, self._refuse, HTTPStatus.REQUEST_TIMEOUT, reason)

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        self._expect("")
        if self.transport.is_closing():
            return
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            # A response is under way, into which no other can be written.
            self.transport.abort()
            return
        self.transport.write(
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: text/plain; charset=utf-8\r\n"
            f"content-length: {len(reason)}\r\nconnection: close\r\n\r\n{reason}".encode()
        )
        self.transport.close()


LINGER_SECONDS, LINGER_BYTES = 5.0, 256 * 2**20
"""Seconds and bytes to read on from a request with too large a body."""


MOST_VALUES, MOST_TOKENS = 100_000, 1_000_000
"""Limits of values in a body's JSON, which is read in the event loop; the second is for lists of tokens to embed."""


_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A string of JSON, or the rest of the body after an unterminated string."""


class BodyTooLarge(Exception):
    """The request's body is over the limit; the text says which."""


class ClientGone(Exception):
    """The client went away before its request was complete."""


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """Return the whole body.

    Raises:
        BodyTooLarge: it has, or says it has, more than ``limit`` bytes.
        ClientGone: the connection ended first.
    """
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > limit or (more and stated_length(scope) > limit):
            # A client that reads only when it has sent everything would see no answer.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LINGER_SECONDS):
                    left = LINGER_BYTES
                    while more and left > 0:
                        message = await receive()
                        left -= len(message.get("body", b""))
                        more = message.get("more_body", False)
            raise BodyTooLarge(f"is larger than {limit} bytes")
    return bytes(body)


def _check_values(body: bytes, most: int) -> None:
    """Refuse a body with too many values; all values but the first follow a mark outside strings."""
    if sum(map(body.count, b",{[")) <= most:
        return
    strings = (body.count(b'"') - body.count(b'\\"')) // 2
    # Each string is a value, or the name of one.
    if strings > 2 * most or sum(map(_STRING.sub(b"", body).count, b",{[")) > most:
        raise BodyTooLarge(f"has more than {most:,} values")


class TrialEndpoint(ABC):
    """An endpoint of requests that may belong to a trial; plain ASGI.

    Attributes:
        trials: the open trials.
        options: bound the body.
    """

    trials: TrialRegistry
    options: ServerOptions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, unless its trial is not open or its body is too large."""
        try:
            trial = self.trials.of(scope["path_params"].get("trial"))
            body = await read_body(scope, receive, self.options.max_body)
            _check_values(body, MOST_TOKENS if scope["path"].endswith("/embeddings") else MOST_VALUES)
        except ClientGone:
            return
        except TrialRefused as error:
            await self.refuse(str(error), error.status, scope, send)
        except BodyTooLarge as error:
            await self.refuse(f"the request {error}", 413, scope, send)
        else:
            await self.serve(trial, body, scope, receive, send)

    @abstractmethod
    async def serve(self, trial: OpenTrial | None, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request after its body was read."""

    @abstractmethod
    async def refuse(self, message: str, status: int, scope: Scope, send: Send) -> None:
        """Send an error in the endpoint's own form."""


def error_response(path: str, message: str, status: int, kind: str = "invalid_request_error") -> JSONResponse:
    """Return an error in the dialect that is spoken at this path, by default chat completions."""
    spoken = dialect_at(path.rpartition("/v1/")[2]) or dialect()
    return JSONResponse(spoken.write_error(message, kind, code=str(status)), status)


async def send_json(body: bytes, status: int, send: Send, more: Sequence[tuple[bytes, bytes]] = ()) -> None:
    """Send a body that is JSON already, with additional headers."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def read_already(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that replays a body which was already read."""
    unread = True

    async def replay() -> Message:
        nonlocal unread
        if unread:
            unread = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replay


def stated_length(scope: Scope) -> int:
    """Return the body's size in bytes by the ``Content-Length`` header; 0 without a valid one."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0


TRIALS = "/t/"
"""The path prefix of trials' URLs; the trial's token in the path is their guard."""

HEALTH = "/healthz"
UNTAGGED = ("/virtual", "/v1/")
"""Paths of requests without a trial's token, which may belong to the ambient trial."""


class TokenCheck:
    """Admit requests that carry a token. ``/healthz`` and a trial's own URLs do not require it.

    Args:
        open_paths: the beginnings of further paths that do not require it.
    """

    def __init__(self, token: str, open_paths: tuple[str, ...] = ()) -> None:
        self._expected = f"Bearer {token}".encode()
        self._open = (TRIALS, *open_paths)

    def refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is refused; None if it is not."""
        path = scope["path"]
        if path == HEALTH or path.startswith(self._open) or self._is_authorized(scope):
            return None
        message = "this server needs a bearer token: send the header Authorization: Bearer <token>"
        response = error_response(path, message, 401, "authentication_error")
        response.headers["www-authenticate"] = "Bearer"
        return response

    def _is_authorized(self, scope: Scope) -> bool:
        """Return whether a request sends the token.

        Anthropic's SDKs send the key in another header, and may send something else in the usual one. Either proves
        that the sender knows the token. A repeated header is refused: a proxy may have checked the other value.
        """
        bearer = [value for name, value in scope["headers"] if name == b"authorization"]
        keys = [b"Bearer " + value for name, value in scope["headers"] if name == b"x-api-key"]
        if len(bearer) > 1 or len(keys) > 1:
            return False
        return any(hmac.compare_digest(value, self._expected) for value in bearer + keys)


class SiteCheck:
    """Reject requests that web pages make a browser send to a server without a token.

    A page of another origin cannot read the answers, but its requests would reach the model and be paid for. A page
    that changes its own name to point here (DNS rebinding) could read them too. The check recognises the first by
    their ``Origin`` and the second by their ``Host``. A trial's own URLs need no such check: pages do not
    know their token.

    Args:
        host: the address that the server listens on.
        hosts: further names of the server.
    """

    def __init__(self, host: str, hosts: Iterable[str]) -> None:
        names = HostNames((host, *hosts))
        # Clients repeat the same name with every request.
        self._is_own = lru_cache(maxsize=64)(names.__contains__)

    def refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is refused; None if it is not."""
        problem = self.problem(scope)
        return None if problem is None else error_response(scope["path"], problem, 403, "permission_error")

    def problem(self, scope: Scope) -> str | None:
        """Return the reason why a request is refused; None if it is not."""
        if scope["path"].startswith(TRIALS):
            return None
        host, origin, site, mode = _headers(scope)
        if not self._is_own(host):
            return (
                f"the request is for the host {host[:100]!r}, which is not a name of this server; if it is one, start "
                "the server with --allow-host NAME"
            )
        foreign = origin not in (f"http://{host}", f"https://{host}") if origin else site == "cross-site"
        # A link on another site may lead here: that request only shows a page.
        if not foreign or (not origin and mode == "navigate"):
            return None
        return f"the request was sent by a web page of another origin ({origin[:100] or 'not named'})"


def _headers(scope: Scope) -> tuple[str, str, str, str]:
    found = {b"host": "", b"origin": "", b"sec-fetch-site": "", b"sec-fetch-mode": ""}
    for name, value in scope["headers"]:
        if name in found:
            found[name] = value.decode("latin-1").lower()
    host, origin, site, mode = found.values()
    return host, origin, site, mode


if TYPE_CHECKING:
    import aiohttp as aiohttp
else:

    class _Aiohttp:
        """Stands for the package."""

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module("aiohttp"), name)

    aiohttp = _Aiohttp()


async def read_at_most(answer: aiohttp.ClientResponse, limit: int) -> bytes | None:
    """Read the body of an answer; None if it is longer."""
    body = bytearray()
    async for piece in answer.content.iter_any():
        body += piece
        if len(body) > limit:
            return None
    return bytes(body)
