"""Serves a vendor that misbehaves by script: ``bench serve --faults``."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from contextlib import suppress

from trialbed_scripted import ScriptedServer, serve
from trialbed_server._arrival import BoundedConnection
from trialbed_server._options import check_token


def serve_faults(script: str, host: str, port: int, token: str | None = None) -> None:
    """Serve until SIGINT or SIGTERM; prints ``{"url": …}`` when it listens.

    Args:
        script: as ``FaultScript.read`` takes it.
        token: that requests must carry; required beyond loopback.

    Raises:
        UsageError: the script is wrong, there is no token where one is required, or it is too short.
        ServerUnavailable: the address cannot be listened on.
    """
    server = serve(faults=script, host=host, port=port, token=token, kept=0, guard=BoundedConnection)
    check_token(token, host)
    with suppress(KeyboardInterrupt):
        asyncio.run(_until_stopped(server))


async def _until_stopped(server: ScriptedServer) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        # Event loops of Windows have no signals; Ctrl-C is an exception there.
        with suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with server:
        sys.stdout.write(json.dumps({"url": server.url}) + "\n")
        sys.stdout.flush()
        await ended.wait()
