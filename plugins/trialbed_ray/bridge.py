"""Ray's driver of a run, ``python -m trialbed_ray.bridge``, which the engine controls over pipes."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import ray
from ray.exceptions import RayActorError

from trialbed_ray._place import Place

LONGEST = 128 * 2**20
"""Bytes of a message. One of a worker, of 32 MiB at most, may be three times as long in it: signs are escaped."""

LAST = 15.0
"""Seconds for places to end their workers."""

PAUSES = (0.5, 10.0)
"""Seconds before a place is made again: at first, and the most, after it has ended again and again without a trial."""

RENEWAL = 20.0
"""Seconds after the last place has gone until the bridge ends, and the engine starts another one.

A driver whose head was replaced takes the new one for its own, which knows nothing of it.
"""

CALLS = 16
"""Calls of a place at a time: of a trial, of descriptions, and of the one that never returns."""

SHOWN = 300
"""Characters of a reason."""

GUESSES = " Some common causes include:"
"""The beginning of Ray's list of possible causes of a death, which is always the same."""


class Bridge:
    """Keeps places, replaces them when they are gone, and calls them.

    Args:
        order: the first message.
        out: the file descriptor for messages.
    """

    def __init__(self, order: Mapping[str, Any], out: int) -> None:
        self._setup: Mapping[str, Any] = order["setup"]
        self._number: int = order["places"]
        self._out = out
        self._numbers = itertools.count(1)
        self._open: dict[int, Any] = {}
        self._proven: set[int] = set()
        self._calls: set[asyncio.Task[None]] = set()
        self._renewal: asyncio.TimerHandle | None = None
        options = {"num_cpus": order["cpus"], "memory": order["memory"], "scheduling_strategy": "SPREAD"}
        options |= {"max_restarts": 0, "max_task_retries": 0, "max_concurrency": CALLS}
        # Its list of tasks is not used here.
        self._kind = ray.remote(enable_task_events=False, **options)(Place)

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Serve until the input ends, and the places have ended their workers."""
        self._say(host=ray.util.get_node_ip_address())
        keeping = [asyncio.create_task(self._keep()) for _ in range(self._number)]
        while line := await reader.readline():
            match json.loads(line):
                case {"end": number}:
                    _kill(self._open.get(number))
                case {"call": number, "place": place, "method": method, "arguments": arguments}:
                    call = asyncio.create_task(self._call(number, place, method, arguments))
                    self._calls.add(call)
                    call.add_done_callback(self._calls.discard)
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST):
                leaving = (place.close.remote() for place in self._open.values())
                await asyncio.gather(*leaving, return_exceptions=True)
        for task in keeping:
            task.cancel()
        await asyncio.wait(keeping)

    async def _keep(self) -> None:
        """Keep one place open, and replace it whenever it is gone."""
        pause, most = PAUSES
        while True:
            number, place, reason = next(self._numbers), None, "its node has ended it"
            try:
                place = self._kind.remote(**self._setup)
                node = await place.open.remote()
                self._open[number] = place
                self._say(opened=number, node=node)
                if self._renewal is not None:
                    self._renewal.cancel()
                await place.stay.remote()
            except Exception as error:  # noqa: BLE001 - Ray raises many: all mean that it is gone
                reason = _reason(error)
            finally:
                # It may only have been out of reach.
                _kill(place)
            self._say(gone=number, reason=reason)
            if self._open.pop(number, None) is not None and not self._open:
                self._renewal = asyncio.get_running_loop().call_later(RENEWAL, _give_up)
            pause = PAUSES[0] if number in self._proven else pause
            await asyncio.sleep(pause)
            pause = min(2 * pause, most)

    async def _call(self, number: int, place: int, method: str, arguments: Sequence[Any]) -> None:
        if place not in self._open:
            self._say(lost=number, reason="it was ended")
            return
        try:
            kind, text = await self._open[place].call.remote(method, *arguments)
        except Exception as error:  # noqa: BLE001 - as above
            self._say(lost=number, reason=_reason(error))
            return
        if kind == "Outcome":
            self._proven.add(place)
        self._say(answered=number, kind=kind, text=text)

    def _say(self, **message: Any) -> None:
        view = memoryview(json.dumps(message).encode() + b"\n")
        while view:
            view = view[os.write(self._out, view) :]


def _give_up() -> None:
    """End without closing the connection, which is impossible after the head is gone."""
    sys.stderr.write(f"no place has come for {RENEWAL:g} s\n")
    sys.stderr.flush()
    os._exit(1)


def _kill(place: Any) -> None:
    if place is not None:
        with suppress(Exception):
            ray.kill(place)


def _reason(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # The first line of a death is a heading, the last says what happened; of an error in the actor it is the error.
    shown = f"{lines[0]} {lines[-1]}" if isinstance(error, RayActorError) and len(lines) > 1 else lines[-1]
    known, _, _ = shown.partition(GUESSES)
    return re.sub(r"[Tt]he actor\b( [0-9a-f]{8,})?", "its actor", known)[:SHOWN].rstrip(". ")


async def _serve(out: int) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    if not (line := await reader.readline()):
        return
    order = json.loads(line)
    address = order["address"]
    try:
        ray.init(address=address or "auto", log_to_driver=False, logging_level="ERROR")
    except ConnectionError as error:
        sys.exit(f"there is no cluster at {address or 'the address that Ray knows'}: {_reason(error)}")
    await Bridge(order, out).run(reader)


def main() -> None:
    """Connect to the cluster, and serve the engine until it closes the pipe."""
    # Ray's output must not be mixed with the messages.
    out = os.dup(1)
    os.dup2(2, 1)
    try:
        asyncio.run(_serve(out))
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
