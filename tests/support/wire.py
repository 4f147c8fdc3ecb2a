"""Servers that send bytes as told: for what no HTTP library would send."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

ANSWER: dict[str, Any] = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 4},
}
BODY = json.dumps(ANSWER).encode()
CHUNKS = (
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "hi"}, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
)
EVENTS = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in CHUNKS) + b"data: [DONE]\n\n"


def reply(*headers: str, body: bytes = BODY, status: str = "HTTP/1.1 200 OK", kind: str = "application/json") -> bytes:
    """An HTTP response, without a length unless it is given."""
    lines = [status, f"Content-Type: {kind}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@dataclass
class Spoken:
    """A server, and the requests that it was sent: the first line and the headers of each."""

    url: str
    requests: list[str] = field(default_factory=list)


@asynccontextmanager
async def saying(
    answer: bytes, *, linger: bool = False, later: bytes = b"", seen: asyncio.Event | None = None
) -> AsyncIterator[Spoken]:
    """Serve: whatever is asked gets these bytes; then the connection is closed, or left open.

    Args:
        later: bytes that follow when the first ones were ``seen``.
    """
    ended = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            spoken.requests.append(head)
            await reader.readexactly(_length(head))
            writer.write(answer)
            await writer.drain()
            if seen is not None:
                await seen.wait()
                writer.write(later)
                await writer.drain()
            if linger:
                await ended.wait()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    spoken = Spoken(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    try:
        yield spoken
    finally:
        ended.set()
        server.close()


def _length(head: str) -> int:
    lengths = [line.split(":")[1] for line in head.splitlines() if line.lower().startswith("content-length:")]
    return int(lengths[0]) if lengths else 0
