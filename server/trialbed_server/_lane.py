"""A short way to ``/virtual``, which is asked far more often than anything else."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send


class ShortLane:
    """Takes ``POST path`` straight to its endpoint; every other request goes the long way."""

    def __init__(self, app: ASGIApp, path: str, endpoint: ASGIApp) -> None:
        self._app = app
        self._path = path
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["path"] == self._path and scope["method"] == "POST":
            scope["path_params"] = {}
            await self._endpoint(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class LaneApp(FastAPI):
    """An application with a short lane, which is open only while no middleware (a guard, a plugin's) must see it.

    Args:
        lane: the path and the endpoint, which must answer every request without raising.
    """

    def __init__(self, *, lane: tuple[str, ASGIApp], **settings: Any) -> None:
        super().__init__(**settings)
        self._lane = lane

    def build_middleware_stack(self) -> ASGIApp:
        """The stack, with the lane in front where it may be."""
        stack = super().build_middleware_stack()
        return stack if self.user_middleware else ShortLane(stack, *self._lane)
