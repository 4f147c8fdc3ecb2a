"""Progress of a run that is under way, as server-sent events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from trialbed.store import StoreReader

EVERY = 1.0
"""Seconds between two looks at the store, at least."""

REST = 9.0
"""The pause after a look at the store, as a multiple of its time: pages of a large run do not slow it down."""


async def progress_events(
    reader: Callable[[], StoreReader], run_id: str, gone: Callable[[], Awaitable[bool]], every: float = EVERY
) -> AsyncIterator[bytes]:
    """Yield an event each time the run has changed, until it is no longer running or no one listens.

    The data are ``status``, ``ended``, ``answered``, ``failed`` and ``total``.
    """
    last = b""
    while not await gone():
        began = time.monotonic()
        found, running = await asyncio.to_thread(_progress, reader(), run_id)
        took = time.monotonic() - began
        if found != last:
            last = found
            yield b"event: progress\ndata: " + found + b"\n\n"
        if not running:
            yield b"event: end\ndata: {}\n\n"
            return
        await asyncio.sleep(max(every, REST * took))


def _progress(reader: StoreReader, run_id: str) -> tuple[bytes, bool]:
    run = reader.run(run_id)
    ends = run.ends()
    total = len(run.config.query_ids) * run.config.repeat * len(run.config.frameworks)
    document = {
        "status": run.status,
        "ended": ends.total(),
        "answered": ends["answered"],
        "failed": ends["failed"],
        "total": total,
    }
    return json.dumps(document).encode(), run.status == "running"
