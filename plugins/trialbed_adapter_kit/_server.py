"""The stage's server: a thread with an event loop of its own."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from aiohttp import web

from trialbed_adapter_kit._scene import Scene

HOST = "127.0.0.1"
STARTING = 30.0
"""Seconds that the server has to start; it takes a few milliseconds."""

LARGEST_BODY = 256 * 1024**2

Result = TypeVar("Result")


class Server:
    """Serves scenes, each under a path of its own: ``/t/<token>/v1/chat/completions`` and ``/t/<token>/virtual``.

    An adapter that blocks its own thread or loop cannot keep the stage from answering.

    Attributes:
        strays: requests that belong to no scene, as ``METHOD path``.
    """

    def __init__(self) -> None:
        self.strays: list[str] = []
        self._scenes: dict[str, Scene] = {}
        self._bound: Future[int] = Future()
        self._thread = threading.Thread(target=self._run, name="trialbed-stage", daemon=True)
        self._thread.start()
        self.port = self._bound.result(STARTING)

    def add(self, scene: Scene) -> str:
        """Serve a scene; returns its URL."""
        token = secrets.token_hex(8)
        self._scenes[token] = scene
        return f"http://{HOST}:{self.port}/t/{token}"

    def call(self, function: Callable[[], Result]) -> Result:
        """The result of a function, called on the server's loop."""

        async def called() -> Result:
            return function()

        return asyncio.run_coroutine_threadsafe(called(), self._loop).result(STARTING)

    def clear(self) -> None:
        """End all scenes."""

        def end() -> None:
            for scene in self._scenes.values():
                scene.end()
            self._scenes.clear()

        self.call(end)

    def close(self) -> None:
        """Stop serving."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join()

    def _run(self) -> None:
        try:
            with asyncio.Runner() as runner:
                runner.run(self._serve())
        except BaseException as error:
            if self._bound.done():
                raise
            self._bound.set_exception(error)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        app = web.Application(client_max_size=LARGEST_BODY)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        try:
            site = web.TCPSite(runner, HOST, 0, backlog=1024)
            await site.start()
            self._bound.set_result(_port(runner.addresses))
            await self._stopping.wait()
        finally:
            await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        root, _, rest = request.match_info["path"].partition("/")
        token, _, path = rest.partition("/")
        scene = self._scenes.get(token) if root == "t" else None
        if scene is None:
            self.strays.append(f"{request.method} {request.path}")
            return web.json_response({"error": {"message": "the stage plays no such trial"}}, status=404)
        return await scene.handle(request, path)


def _port(addresses: list[Any]) -> int:
    return int(addresses[0][1])
