"""The application: what stands before its routes."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Protocol, cast

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from trialbed_server._access import POLICY_VIOLATION, BearerGuard, Bearers, SiteGuard
from trialbed_server._http import openai_error_response
from trialbed_server._immediate import Answer, Immediate, ImmediateAnswer, ImmediateProtocol
from trialbed_server._rates import RateLimit

BOUNDED = ("/virtual", "/v1/", "/t/", "/control/")
"""Paths whose endpoints bound bodies themselves, with errors in their own forms."""


COUNTED = ("/virtual", "/v1/", "/t/")
"""Paths whose requests count for the rate of their client."""


class FastPath(Protocol):
    """An endpoint that answers every request without raising, and some at once."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

    def immediate(self, sent: bytes) -> ImmediateAnswer | None:
        """The answer; None where that takes more than a look into memory."""


class Application(FastAPI):
    """Refuses what web pages send, bounds bodies, and passes ``POST path`` straight to its endpoint.

    It does the last only where no middleware (a plugin's, or one for other origins) must see the request, and every
    guard admits it: what FastAPI does for every request would take longer than answering from the cache does.

    Args:
        fast_path: the path, and its endpoint.
        control: what may answer a request to ``/control/`` at once.
        sites: decides which requests are refused; None for none.
        max_body: largest body in bytes of routes that plugins add.
        rates: decides which clients ask too often; None for none.
    """

    def __init__(
        self,
        *,
        fast_path: tuple[str, FastPath],
        control: Immediate,
        sites: SiteGuard | None,
        max_body: int,
        rates: RateLimit | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._path, self._endpoint = fast_path
        self._control = control
        self._guards: list[Bearers] = []
        self._sites = sites
        self._max_body = max_body
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await super().__call__(scope, receive, send)
            return
        refusal = self._sites.refusal(scope) if self._sites else None
        if refusal is not None:
            await _refuse(refusal, scope, receive, send)
        elif self._rates and scope["path"].startswith(COUNTED) and (seconds := self._rates.wait(_client(scope))):
            await _too_many(seconds, scope, receive, send)
        elif self._is_fast(scope):
            scope["path_params"] = {}
            await self._endpoint(scope, receive, send)
        elif scope["path"].startswith(BOUNDED):
            await super().__call__(scope, receive, send)
        else:
            await super().__call__(scope, _bounded(receive, self._max_body), send)

    def add_guard(self, bearers: Bearers) -> None:
        """Let through requests of these only."""
        self._guards.append(bearers)
        self.add_middleware(BearerGuard, bearers=bearers)

    @property
    def protocol(self) -> type[asyncio.Protocol]:
        """The protocol of its connections, as uvicorn takes it."""
        return cast("type[asyncio.Protocol]", partial(ImmediateProtocol, immediate=self.immediate))

    def immediate(self, scope: Scope) -> Answer | None:
        """Return the function that may answer a request with this head at once; None where none may."""
        answer: Answer | None = None
        if scope["path"] == self._path:
            if scope.get("method") == "POST" and self._rates is None:
                answer = self._endpoint.immediate
        elif scope["path"].startswith("/control/"):
            answer = self._control(scope)
        if answer is None or not self._is_admitted(scope) or (self._sites and self._sites.refusal(scope)):
            return None
        return answer

    def _is_fast(self, scope: Scope) -> bool:
        return bool(scope["path"] == self._path) and scope.get("method") == "POST" and self._is_admitted(scope)

    def _is_admitted(self, scope: Scope) -> bool:
        """Return whether no middleware has to see a request: there are but guards, and they admit it."""
        if not self.user_middleware:
            return True
        guards = self._guards
        return len(self.user_middleware) == len(guards) and all(guard.admit(scope) for guard in guards)


def _client(scope: Scope) -> str:
    """The address that a request comes from; headers of proxies say nothing that can be trusted."""
    client = scope.get("client")
    return client[0] if client else ""


async def _too_many(seconds: int, scope: Scope, receive: Receive, send: Send) -> None:
    message = f"this client has sent too many requests; ask again in {seconds} s"
    if scope["path"].endswith("/virtual"):
        response = JSONResponse({"error": message, "response": ""}, 429)
    else:
        response = openai_error_response(message, 429, "rate_limit_error")
    response.headers["retry-after"] = str(seconds)
    await response(scope, receive, send)


async def _refuse(message: str, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await WebSocketClose(POLICY_VIOLATION)(scope, receive, send)
    else:
        await openai_error_response(message, 403, "permission_error")(scope, receive, send)


def _bounded(receive: Receive, limit: int) -> Receive:
    left = limit

    async def bounded() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise HTTPException(413, f"the request is larger than {limit} bytes")
        return message

    return bounded
