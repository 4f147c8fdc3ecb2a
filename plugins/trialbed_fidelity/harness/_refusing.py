"""A model endpoint that refuses every request, to see what a framework makes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

REFUSING = "refuse-"
"""A model ``refuse-429`` is refused with status 429."""

MAX_BODY = 64 * 2**20


@asynccontextmanager
async def refusing_endpoint() -> AsyncIterator[str]:
    """The base URL of an endpoint on this event loop; it ends in ``/v1``."""
    app = web.Application(client_max_size=MAX_BODY)
    app.router.add_post("/v1/chat/completions", _refuse)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def _refuse(request: web.Request) -> web.Response:
    model = str((await request.json()).get("model"))
    status = int(model.removeprefix(REFUSING))
    error = {"message": f"refused with {status}, as the model's name asks", "type": "refused", "code": None}
    return web.json_response({"error": error}, status=status)
