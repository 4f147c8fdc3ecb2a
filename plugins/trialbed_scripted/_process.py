"""A scripted model's server as a process."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from contextlib import suppress

from trialbed_scripted._server import ScriptedServer


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
