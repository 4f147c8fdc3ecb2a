"""The fast path to ``/virtual``, and the check of the bearer token."""

from __future__ import annotations

import hmac
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from trialbed_server._http import openai_error_response


class FastPathApp(FastAPI):
    """An application that passes ``POST path`` straight to its endpoint.

    It does so only where no middleware (a guard, a plugin's) must see the request: what FastAPI does for every request
    would take longer than answering from the cache does.

    Args:
        fast_path: the path, and its endpoint, which answers every request without raising.
    """

    def __init__(self, *, fast_path: tuple[str, ASGIApp], **settings: Any) -> None:
        super().__init__(**settings)
        self._path, self._endpoint = fast_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if (
            scope["type"] == "http"
            and scope["path"] == self._path
            and scope["method"] == "POST"
            and not self.user_middleware
        ):
            scope["path_params"] = {}
            await self._endpoint(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


class BearerGuard:
    """Lets through requests that carry the token; ``/healthz`` and a trial's own URLs need none."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _is_open(scope["path"]) or self._is_authorized(scope):
            await self._app(scope, receive, send)
            return
        message = "this server needs a bearer token: send the header Authorization: Bearer <token>"
        response = openai_error_response(message, 401, "authentication_error")
        response.headers["www-authenticate"] = "Bearer"
        await response(scope, receive, send)

    def _is_authorized(self, scope: Scope) -> bool:
        sent = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(sent) == 1 and hmac.compare_digest(sent[0], self._expected)


def _is_open(path: str) -> bool:
    return path == "/healthz" or path.startswith("/t/")
