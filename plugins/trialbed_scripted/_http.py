"""Send responses byte by byte, up to the end of the connection."""

from __future__ import annotations

import asyncio
import socket
import struct

from aiohttp import web

from trialbed_scripted._responses import Response


async def send(request: web.Request, response: Response, ended: asyncio.Event) -> web.StreamResponse:
    """Send a response to a request.

    Args:
        ended: when set, stops waiting for a response that never comes.
    """
    await _wait(response.wait)
    if response.ending == "never":
        await ended.wait()
    if response.bare:
        if request.transport is not None and response.parts:
            request.transport.write(response.body)
        return _hang_up(request, response, web.Response(status=500))
    head = web.StreamResponse(
        status=response.status, headers={"Content-Type": response.content_type, **response.headers}
    )
    if response.sized:
        head.content_length = len(response.body)
    await head.prepare(request)
    for place, part in enumerate(response.parts):
        await _wait(response.first if place == 1 else response.gap if place > 1 else 0)
        await head.write(part)
    if response.ending == "complete":
        await head.write_eof()
        return head
    return _hang_up(request, response, head)


def _hang_up(request: web.Request, response: Response, sent: web.StreamResponse) -> web.StreamResponse:
    """Drop the connection with a reset (RST) or a close (FIN)."""
    transport = request.transport
    if transport is not None:
        raw = transport.get_extra_info("socket")
        if response.ending == "reset" and raw is not None:
            # Closing a socket that lingers for zero seconds resets it.
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        else:
            transport.close()
    return sent


async def _wait(seconds: float) -> None:
    if seconds:
        await asyncio.sleep(seconds)
