"""Reads request bodies and sends responses, in plain ASGI."""

from __future__ import annotations

import asyncio
import contextlib
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from trialbed.wire.dialects import dialect, dialect_at
from trialbed_server._options import ServerOptions
from trialbed_server.trials import OpenTrial, TrialRefused, TrialRegistry

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
