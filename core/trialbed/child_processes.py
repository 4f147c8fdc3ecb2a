"""Ends child processes, even if other processes hold their pipes."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from contextlib import suppress


async def stop_process(process: Process, seconds: float, *reading: asyncio.Task[None]) -> None:
    """Close a process's input and wait for it to end; kill it if that takes longer than these seconds.

    Args:
        reading: read its output to the end, in the same time.
    """
    if process.stdin is not None:
        process.stdin.close()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await process.wait()
            await asyncio.gather(*map(asyncio.shield, reading))
    await end_process(process)
    await asyncio.gather(*reading)


async def end_process(process: Process) -> None:
    """Kill a process unless it has ended, wait for it, and close its pipes.

    ``Process.wait`` also waits until the pipes are closed: forever, if their output is not read or another process
    holds them. A process that has ended before leaves them open.
    """
    transport: asyncio.SubprocessTransport = process._transport  # type: ignore[attr-defined] # has no public name
    with suppress(ProcessLookupError):
        process.kill()
    for number in range(3):
        if (pipe := transport.get_pipe_transport(number)) is not None:
            pipe.close()
    await process.wait()
    transport.close()
