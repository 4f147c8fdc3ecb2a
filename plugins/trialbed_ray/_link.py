"""The engine's end of the bridge: a program that is started again when it ends, as it does with its cluster."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress

from trialbed.child_processes import end_process
from trialbed.records import Record
from trialbed.worker import WORKER_MARK, message_line, worker_environment
from trialbed_ray._messages import TO_ENGINE, Connect, ToEngine

AGAIN = 2.0
"""Seconds before the bridge is started again."""

ENDING = 30.0
"""Seconds in which it must end once its input is closed."""

TAIL = 4096
"""Bytes of its standard error that are kept."""

SHOWN = 300
"""Characters of an error."""

LOGGED = re.compile(r"^\[[^]]+\] \S+:\d+: ")
"""The time, processes and place in the sources, before a message in Ray's log."""

NOTHING_KNOWN = "the connection to the cluster was lost"


class Link:
    """Sends messages to the bridge, and takes its own.

    Args:
        order: the first message to every bridge.
        take: is given each message. ``ended``: is given the reason when a bridge has ended.
    """

    def __init__(self, order: Connect, take: Callable[[ToEngine], None], ended: Callable[[str], None]) -> None:
        self._order = order
        self._take = take
        self._ended = ended
        self._process: Process | None = None
        self._running = asyncio.create_task(self._run())

    def send(self, message: Record) -> None:
        """Send a message, unless the bridge has ended."""
        if self._process is not None and self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(message_line(message))

    def restart(self) -> None:
        """End the bridge by force, and with it the places; another one is started."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def close(self) -> None:
        """End the bridge, which ends all places."""
        process = self._process
        self._running.cancel()
        await asyncio.wait([self._running])
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDING):
                await process.communicate()
        await end_process(process)

    async def _run(self) -> None:
        while True:
            try:
                reason = await self._serve()
            except Exception as error:  # noqa: BLE001 - whatever it is, the next bridge may do better
                reason = f"the program that speaks with it had to be ended: {type(error).__name__}: {error}"[:SHOWN]
                if self._process is not None:
                    await end_process(self._process)
            self._ended(reason)
            await asyncio.sleep(AGAIN)

    async def _serve(self) -> str:
        """Start a bridge and take its messages until it ends; returns its last words."""
        # It needs none of the engine's keys but those of the cluster itself.
        own = {name: value for name, value in os.environ.items() if name.startswith("RAY_")}
        variables = worker_environment("") | own
        del variables[WORKER_MARK]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "trialbed_ray.bridge"),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=variables,
            # Ctrl-C in the terminal is the engine's to handle.
            start_new_session=True,
        )
        self._process = process
        assert process.stdout is not None  # noqa: S101 - asked for above
        assert process.stderr is not None  # noqa: S101
        self.send(self._order)
        errors = asyncio.create_task(_tail(process.stderr))
        try:
            while line := await process.stdout.readline():
                self._take(TO_ENGINE.validate_json(line))
            await process.wait()
            lines = (await errors).split("\n")
            return LOGGED.sub("", lines[-1]) or NOTHING_KNOWN
        finally:
            errors.cancel()


async def _tail(stream: asyncio.StreamReader) -> str:
    kept = b""
    with suppress(asyncio.CancelledError):
        while chunk := await stream.read(4096):
            kept = (kept + chunk)[-TAIL:]
    return kept.decode(errors="replace").strip()
