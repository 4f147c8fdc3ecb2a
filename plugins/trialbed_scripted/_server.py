"""Serves a scripted model at an endpoint as vendors have, with faults."""

from __future__ import annotations

import asyncio
import hmac
import json
import signal
import sys
from contextlib import suppress
from typing import Any

from aiohttp import web

from trialbed.wire.addresses import SCRIPT
from trialbed.wire.dialects import CHAT, PATHS, dialect
from trialbed_scripted._endpoint import ScriptedEndpoint
from trialbed_scripted._http import HttpServer, send
from trialbed_scripted._responses import fail
from trialbed_scripted._scripts import Model, Script
from trialbed_scripted.faults import FaultScript, atlas

NO_TOKEN = "this server needs a bearer token: send the one of TRIALBED_SERVER_TOKEN as the API key"  # noqa: S105 - a text


class ScriptedServer(ScriptedEndpoint, HttpServer):
    """Serves a model: in a thread of its own (``with``), or on the running event loop (``async with``)."""

    def __init__(
        self,
        model: Model | None = None,
        faults: FaultScript | str | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        kept: int = 10_000,
    ) -> None:
        ScriptedEndpoint.__init__(self, model, faults, kept=kept)
        HttpServer.__init__(self, host=host, port=port)
        self._expected = f"Bearer {token}".encode() if token else None

    @property
    def url(self) -> str:
        """The base URL for clients; ends in ``/v1``."""
        return f"{self.origin}/v1"

    def _routes(self) -> list[tuple[str, str]]:
        listed = [("GET", "/v1/models")] if isinstance(self._model, Script) else []
        roots = ["/v1", *(f"/{name}/v1" for name in atlas() if self.faults.by_path)]
        return [("POST", f"{root}/{path}") for root in roots for path in (*PATHS, "completions")] + listed

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a request to the model, or for the list of models."""
        if request.method == "GET":
            return web.json_response({"object": "list", "data": [{"id": SCRIPT, "object": "model"}]})
        place, _, path = request.path.removeprefix("/").rpartition("v1/")
        spoken = PATHS.get(path, CHAT)
        if self._expected is not None and not hmac.compare_digest(_key_in(request), self._expected):
            refusal = fail(401, NO_TOKEN, "authentication_error", spoken=dialect(spoken))
            return await send(request, refusal, self.ended)
        response = await self.respond(self.receive(await request.read(), request.headers, spoken, place.rstrip("/")))
        try:
            return await send(request, response, self.ended)
        except ConnectionResetError:
            # The client has left.
            return web.Response(status=499)


def serve(model: Model | None = None, *, faults: FaultScript | str | None = None, **options: Any) -> ScriptedServer:
    """Return a server of a model, to be entered with ``with`` or ``async with``.

    Args:
        model: a script, a policy, or a function that answers a request. By default one that answers anything: with a
            right call of an offered tool, or a text.
        faults: names in order (``status:429,none``), the JSON or the file of a script of faults.
        options: further arguments of ``ScriptedServer``.

    Raises:
        UsageError: the faults are not a script.
    """
    return ScriptedServer(model, faults, **options)


def _key_in(request: web.Request) -> bytes:
    """Return the bearer token of a request, which some SDKs send in a header of their own."""
    sent = request.headers.get("Authorization") or f"Bearer {request.headers.get('X-Api-Key', '')}"
    return sent.encode(errors="surrogateescape")


def serve_until_stopped(server: ScriptedServer) -> None:
    """Serve until SIGINT or SIGTERM; prints ``{"url": …}`` when it listens.

    Raises:
        ServerUnavailable: the address cannot be listened on.
    """
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(server))


async def _serve(server: ScriptedServer) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        # Event loops of Windows have no signals; Ctrl-C is an exception there.
        with suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with server:
        sys.stdout.write(json.dumps({"url": server.url}) + "\n")
        sys.stdout.flush()
        await ended.wait()
