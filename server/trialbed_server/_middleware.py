"""The fast path to ``/virtual``."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send


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
