"""The application: what stands before its routes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from trialbed_server._access import AccessCheck
from trialbed_server._immediate import Answer, Immediate, ImmediateAnswer, ImmediateProtocol
from trialbed_server._openapi import INFO, Document, describe_routes
from trialbed_server.trials import TrialRefused

BOUNDED = ("/virtual", "/v1/", "/t/", "/control/")
"""Paths whose endpoints bound bodies themselves, with errors in their own forms."""


METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]

BODILESS = frozenset({204, 304})
"""Statuses whose answers have no body (RFC 9110, 15.3.5 and 15.4.5)."""

POLICY_VIOLATION = 1008
"""Code with which a WebSocket is closed (RFC 6455, 7.4.1)."""


class FastPath(Protocol):
    """An endpoint that answers every request without raising, and some at once."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

    def immediate(self, sent: bytes) -> ImmediateAnswer | None:
        """The answer; None where that takes more than a look into memory."""


class Application(Starlette):
    """Serves the requests that every check admits, bounds bodies, and passes ``POST path`` straight to its endpoint.

    It does the last only where no plugin's middleware must see the request: routing would take longer than answering
    from the cache does.

    Args:
        fast_path: the path, and its endpoint.
        control: returns the function that may answer a request to ``/control/`` at once.
        checks: in the order in which they are made.
        origins: of the web pages whose requests browsers may send.
        max_body: largest body in bytes of routes that plugins add.
        token: whether requests need a bearer token, for the document of its routes.
        settings: of its base class.
    """

    def __init__(
        self,
        *,
        fast_path: tuple[str, FastPath],
        control: Immediate,
        checks: Sequence[AccessCheck],
        origins: Sequence[str],
        max_body: int,
        token: bool,
        **settings: Any,
    ) -> None:
        super().__init__(exception_handlers={HTTPException: _error, TrialRefused: _no_trial}, **settings)
        self._token = token
        self._document: Document | None = None
        self._path, self._endpoint = fast_path
        self._control = control
        self._checks = checks
        self._max_body = max_body
        self._is_counted = any(check.counts for check in checks)
        self._is_shared = bool(origins)
        self._entry: ASGIApp = self._admit
        if origins:
            self._entry = CORSMiddleware(self._admit, allow_origins=origins, allow_methods=METHODS, allow_headers=["*"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await self._entry(scope, receive, send)

    def openapi(self) -> Document:
        """Return the OpenAPI document of every route."""
        if self._document is None:
            self._document = describe_routes(self._undescribed(), token=self._token)
        return self._document

    def _undescribed(self) -> Document:
        """Return the document without the server's own routes."""
        return {"openapi": "3.1.0", "info": {**INFO}}

    @property
    def protocol(self) -> type[asyncio.Protocol]:
        """The protocol of its connections, as uvicorn takes it."""
        return cast("type[asyncio.Protocol]", partial(ImmediateProtocol, immediate=self.immediate))

    def immediate(self, scope: Scope) -> Answer | None:
        """Return the function that may answer a request with this head at once; None where none may."""
        answer: Answer | None = None
        if self._is_fast(scope):
            answer = None if self._is_counted else self._endpoint.immediate
        elif scope["path"].startswith("/control/") and not self.user_middleware:
            answer = self._control(scope)
        return None if answer is None or self._is_shared or self._refusal(scope) is not None else answer

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = None if scope["type"] == "lifespan" else self._refusal(scope)
        if refusal is not None and scope["type"] == "websocket":
            await WebSocketClose(POLICY_VIOLATION)(scope, receive, send)
        elif refusal is not None:
            await refusal(scope, receive, send)
        elif scope["type"] == "lifespan" or scope["path"].startswith(BOUNDED):
            await self._serve(scope, receive, send)
        else:
            await self._serve(scope, _limit_body(receive, self._max_body), send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._is_fast(scope):
            scope["path_params"] = {}
            await self._endpoint(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer of the first check that refuses a request; None if all admit it."""
        for check in self._checks:
            if (refusal := check.refusal(scope)) is not None:
                return refusal
        return None

    def _is_fast(self, scope: Scope) -> bool:
        return scope["path"] == self._path and scope.get("method") == "POST" and not self.user_middleware


def document_route(app: Application) -> Route:
    """Return the route of an application's OpenAPI document."""

    async def show(_request: Request) -> Response:
        return JSONResponse(app.openapi())

    return Route("/openapi.json", show, methods=["GET"])


async def _error(_request: Request, error: Exception) -> Response:
    """Answer a request that no route serves."""
    found = cast("HTTPException", error)
    if found.status_code in BODILESS:
        return Response(status_code=found.status_code, headers=found.headers)
    return JSONResponse({"detail": found.detail}, found.status_code, found.headers)


async def _no_trial(_request: Request, error: Exception) -> Response:
    """Answer a request about a trial that is not open."""
    return JSONResponse({"error": str(error)}, 404)


def _limit_body(receive: Receive, limit: int) -> Receive:
    left = limit

    async def receive_bounded() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise HTTPException(413, f"the request is larger than {limit} bytes")
        return message

    return receive_bounded
