"""Routes the requests of a trial to the worker process that has it, whichever worker accepts them."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

from multidict import CIMultiDict
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from yarl import URL

from trialbed.wire import lenient_json
from trialbed.wire.answer_limits import answer_limits
from trialbed_server._aiohttp import aiohttp
from trialbed_server._http import BodyTooLarge, ClientGone, error_response, read_already, read_body
from trialbed_server.gateway.connection import HOP_BY_HOP

OPENING = "/control/trials"
CLIENT = b"x-trialbed-client"
"""The header in which a worker names the client whose request it passes on to another."""

LENGTHS = (b"content-length", b"transfer-encoding")
"""The headers of which a request with a body has one."""

NOT_PASSED = HOP_BY_HOP | {b"expect", b"date"}


@dataclass(frozen=True)
class WorkerPlace:
    """A worker among those of a server.

    Attributes:
        number: its own, from 0.
        sockets: the path of each worker's own socket, which only this user can reach.
    """

    number: int
    sockets: tuple[str, ...]

    def owner(self, trial: str) -> int:
        """The number of the worker that has the trial of this token, or will have it."""
        return zlib.crc32(trial.encode("utf-8", "replace")) % len(self.sockets)


class TrialRouting:
    """An ASGI application before a worker's own: passes on the requests of trials that other workers have.

    Bodies pass in both directions as they come. All other requests, and those that another worker has passed on, are
    answered here.

    Args:
        max_body: largest registration of a trial in bytes; its token is in the body.
    """

    def __init__(self, app: ASGIApp, place: WorkerPlace, max_body: int) -> None:
        self._app = app
        self._place = place
        self._max_body = max_body
        self._sessions: dict[int, aiohttp.ClientSession] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            try:
                await self._app(scope, receive, send)
            finally:
                for session in self._sessions.values():
                    await session.close()
            return
        if scope["type"] != "http" or _is_passed_on(scope):
            await self._app(_with_client(scope), receive, send)
            return
        trial, receive = await self._trial(scope, receive)
        owner = self._place.number if trial is None else self._place.owner(trial)
        if owner == self._place.number:
            await self._app(scope, receive, send)
        else:
            await self._pass_on(owner, scope, receive, send)

    async def _trial(self, scope: Scope, receive: Receive) -> tuple[str | None, Receive]:
        """The token of the trial that a request is about, and the request's body, which may have been read for it."""
        path = scope["path"]
        if path == OPENING and scope["method"] == "POST":
            try:
                body = await read_body(scope, receive, self._max_body)
            except BodyTooLarge:  # which the application refuses in its own words
                return None, read_already(bytes(self._max_body + 1), receive)
            except ClientGone:
                return None, _receive_disconnect
            return _token(body), read_already(body, receive)
        parts = path.split("/")
        place = 3 if path.startswith(f"{OPENING}/") else 2 if path.startswith("/t/") else None
        return (None if place is None else parts[place]), receive

    async def _pass_on(self, owner: int, scope: Scope, receive: Receive, send: Send) -> None:
        body = _Body(receive, there=any(name in LENGTHS for name, _ in scope["headers"]))
        passing = asyncio.ensure_future(self._exchange(owner, scope, body, send))
        gone = asyncio.ensure_future(body.wait_for_end())
        try:
            await asyncio.wait((passing, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not passing.done():
                passing.cancel()
                with suppress(asyncio.CancelledError):
                    await passing
        if not passing.cancelled():
            passing.result()

    async def _exchange(self, owner: int, scope: Scope, body: _Body, send: Send) -> None:
        """Send a request to its worker, and the answer to its client."""
        query = scope["query_string"].decode("latin-1")
        path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
        url = f"http://worker{path}{'?' if query else ''}{query}"
        started = False
        try:
            async with self._session(owner).request(
                scope["method"],
                URL(url, encoded=True),
                data=body.pieces() if body.there else None,
                headers=_headers(scope),
                skip_auto_headers=("User-Agent", "Content-Type", "Accept", "Accept-Encoding"),
                allow_redirects=False,
            ) as answer:
                kept = [(name.lower(), value) for name, value in answer.raw_headers if name.lower() not in NOT_PASSED]
                await send({"type": "http.response.start", "status": answer.status, "headers": kept})
                started = True
                async for piece in answer.content.iter_any():
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
        except (aiohttp.ClientError, OSError) as error:
            if started:  # the connection is cut, as the worker's was
                raise
            await _unreachable(scope, error)(scope, _receive_disconnect, send)

    def _session(self, owner: int) -> aiohttp.ClientSession:
        if owner not in self._sessions:
            self._sessions[owner] = aiohttp.ClientSession(
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                connector=aiohttp.UnixConnector(self._place.sockets[owner], limit=0),
                timeout=aiohttp.ClientTimeout(total=None),
                **answer_limits(),
            )
        return self._sessions[owner]


class _Body:
    """A request's body as it comes, and the end of its client."""

    def __init__(self, receive: Receive, *, there: bool) -> None:
        self.there = there
        self._receive = receive
        self._read = asyncio.Event()
        self._ended = asyncio.Event()
        if not there:
            self._read.set()

    async def pieces(self) -> AsyncIterator[bytes]:
        """The pieces of the body.

        Raises:
            ConnectionError: the client has gone.
        """
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self._ended.set()
                raise ConnectionError("the client has gone")
            more = message.get("more_body", False)
            yield message.get("body", b"")
        self._read.set()

    async def wait_for_end(self) -> None:
        """Wait until the client has gone."""
        ended = asyncio.ensure_future(self._ended.wait())
        read = asyncio.ensure_future(self._read.wait())
        try:
            await asyncio.wait((ended, read), return_when=asyncio.FIRST_COMPLETED)
            while not self._ended.is_set():
                if (await self._receive())["type"] == "http.disconnect":
                    return
        finally:
            ended.cancel()
            read.cancel()


def _is_passed_on(scope: Scope) -> bool:
    """Return whether a request came through a worker's own socket, which only workers can reach."""
    return not scope.get("client")


def _with_client(scope: Scope) -> Scope:
    for name, value in scope.get("headers", ()):
        if name == CLIENT and not scope.get("client"):
            return {**scope, "client": (value.decode("latin-1"), 0)}
    return scope


def _headers(scope: Scope) -> CIMultiDict[str]:
    kept = [(name, value) for name, value in scope["headers"] if name.lower() not in NOT_PASSED | {CLIENT}]
    found = CIMultiDict((name.decode("latin-1"), value.decode("latin-1")) for name, value in kept)
    found[CLIENT.decode()] = scope["client"][0]
    return found


def _token(body: bytes) -> str | None:
    """The token of a registration; None where it cannot be read, and any worker can report the fault."""
    found = lenient_json(body)
    trial = found.get("trial") if isinstance(found, dict) else None
    return trial if isinstance(trial, str) else None


async def _receive_disconnect() -> Message:
    return {"type": "http.disconnect"}


def _unreachable(scope: Scope, error: Exception) -> ASGIApp:
    message = f"the worker that has this trial cannot be reached ({type(error).__name__}); what it saw is lost"
    if "/v1/" in scope["path"]:
        return error_response(scope["path"], message, 503, "server_error")
    return JSONResponse({"error": message, "response": ""}, 503)
