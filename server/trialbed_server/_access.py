"""Who may send requests: bearer tokens."""

from __future__ import annotations

import hmac

from starlette.types import ASGIApp, Receive, Scope, Send

from trialbed_server._http import openai_error_response

TRIALS = "/t/"
"""Where the URLs of trials are: the trial's token in the path is their guard."""

HEALTH = "/healthz"
UNTAGGED = ("/virtual", "/v1/")
"""Paths of requests without a trial's token, which may belong to the ambient trial."""


class BearerGuard:
    """Lets through requests that carry the token; ``/healthz`` and a trial's own URLs need none."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._is_open(scope["path"]) or self._is_authorized(scope):
            await self._app(scope, receive, send)
            return
        message = "this server needs a bearer token: send the header Authorization: Bearer <token>"
        response = openai_error_response(message, 401, "authentication_error")
        response.headers["www-authenticate"] = "Bearer"
        await response(scope, receive, send)

    def _is_open(self, path: str) -> bool:
        return path == HEALTH or path.startswith(TRIALS)

    def _is_authorized(self, scope: Scope) -> bool:
        sent = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(sent) == 1 and hmac.compare_digest(sent[0], self._expected)


class RunGuard(BearerGuard):
    """Keeps what controls a run for the engine that started the server.

    Requests to the model and the virtual API need no token here: without a trial they are refused anyway, unless
    they belong to the ambient one.
    """

    def _is_open(self, path: str) -> bool:
        return super()._is_open(path) or path.startswith(UNTAGGED)
