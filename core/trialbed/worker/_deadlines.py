"""The deadline of a trial, for an executor that runs where the engine is not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.request import ProxyHandler, build_opener

LONGEST = 5.0
"""Seconds that the server may take to answer."""

SIZE = 1024
"""Bytes of its answer."""


def waited_at(server_url: str) -> Callable[[str], Awaitable[float]]:
    """Return what says how much later a trial's deadline is, as ``Executor.waited`` does, by asking the server.

    ``GET /t/<trial>/waited`` needs no token: the trial's is in its path. Where the server does not answer, the deadline
    stays.

    Args:
        server_url: the server's root, as ``Executor.connect`` gets it.
    """
    opener = build_opener(ProxyHandler({}))

    def ask(trial: str) -> float:
        url = f"{server_url.rstrip('/')}/t/{trial}/waited"
        with suppress(OSError, ValueError, KeyError, TypeError), opener.open(url, timeout=LONGEST) as reply:
            return float(json.loads(reply.read(SIZE))["waited"])
        return 0.0

    async def time_waited(trial: str) -> float:
        return await asyncio.to_thread(ask, trial)

    return time_waited
