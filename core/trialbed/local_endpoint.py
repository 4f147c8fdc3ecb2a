"""An address of this machine for other programs to ask this process."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

OBJECT_FAILED = re.compile(r'the model failed: (?:[^"\\]|\\.)*')
"""Finds, in the JSON of its answer, why a model that is an object failed."""

MAX_REQUEST = 64 * 2**20
"""Bytes of one request."""


@asynccontextmanager
async def local_endpoint(path: str, answer: Callable[[Any], Awaitable[Any]]) -> AsyncIterator[str]:
    """Answer requests by POST; yields the base URL of the path."""
    from aiohttp import web  # takes long to import, and most runs do not need it

    application = web.Application(client_max_size=MAX_REQUEST)
    application.router.add_post(path, answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
