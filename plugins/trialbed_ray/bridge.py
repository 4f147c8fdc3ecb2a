"""``python -m trialbed_ray.bridge``: Ray's driver of a run, which the engine starts and speaks with over pipes."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from contextlib import suppress
from typing import Any

import ray
from ray.exceptions import RayActorError

from trialbed.records import Record
from trialbed.worker import message_line
from trialbed_ray._messages import LONGEST, TO_BRIDGE, Connect, Connected, EndPlace, MakePlace, PlaceGone
from trialbed_ray._place import PlaceActor

LAST = 15.0
"""Seconds in which places must have ended their workers."""

SHOWN = 300
"""Characters of a reason."""

GUESSES = " Some common causes include:"
"""Where Ray begins to list possible causes of a death, which are the same for all."""


class Bridge:
    """Makes places, and says when they are gone.

    Args:
        order: the first message.
        out: the descriptor to which messages are written.
    """

    def __init__(self, order: Connect, out: int) -> None:
        self._setup = order.setup.model_dump_json()
        self._out = out
        # Those that shall be there; all whose end is waited for.
        self._places: dict[int, Any] = {}
        self._watching: dict[int, asyncio.Task[None]] = {}
        options = {"num_cpus": order.cpus, "memory": order.memory, "scheduling_strategy": "SPREAD"}
        # Nobody reads its list of tasks here.
        self._kind = ray.remote(max_restarts=0, max_task_retries=0, enable_task_events=False, **options)(PlaceActor)

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Serve until the input ends, and the places have ended their workers, with which the engine has hung up."""
        self._say(Connected(host=ray.util.get_node_ip_address()))
        while line := await reader.readline():
            match TO_BRIDGE.validate_json(line):
                case MakePlace() as order:
                    # Before the next message, which may end it.
                    self._places[order.place] = actor = self._make()
                    self._watching[order.place] = asyncio.create_task(self._watch(order, actor))
                case EndPlace(place=number):
                    _kill(self._places.pop(number, None))
                case message:
                    raise ValueError(f"a second {message.type}")
        # Those that were to end, such as actors that begin, are not waited for.
        leaving = [self._watching[number] for number in self._places]
        with suppress(ValueError):  # there are none
            await asyncio.wait(leaving, timeout=LAST)
        for task in self._watching.values():
            task.cancel()

    def _make(self) -> Any:
        """Make the actor of a place; returns the error if there is one."""
        try:
            return self._kind.remote(self._setup)
        except Exception as error:  # noqa: BLE001 - Ray raises many: all mean that it is gone
            return error

    async def _watch(self, order: MakePlace, actor: Any) -> None:
        reason = "its node has ended it"
        try:
            if isinstance(actor, Exception):
                raise actor
            await actor.serve.remote(order.host, order.port, order.token)
        except Exception as error:  # noqa: BLE001 - as above
            reason = _reason(error)
        finally:
            # It may only have been out of reach.
            _kill(actor)
            self._places.pop(order.place, None)
            del self._watching[order.place]
        self._say(PlaceGone(place=order.place, reason=reason))

    def _say(self, message: Record) -> None:
        view = memoryview(message_line(message))
        while view:
            view = view[os.write(self._out, view) :]


def _kill(actor: Any) -> None:
    if actor is not None:
        with suppress(Exception):
            ray.kill(actor)


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
    order = TO_BRIDGE.validate_json(line)
    if not isinstance(order, Connect):
        sys.exit("the first message must be connect")
    try:
        ray.init(address=order.address or "auto", log_to_driver=False, logging_level="ERROR")
    except ConnectionError as error:
        sys.exit(f"there is no cluster at {order.address or 'the address that Ray knows'}: {_reason(error)}")
    await Bridge(order, out).run(reader)


def main() -> None:
    """Connect to the cluster, and serve the engine until it closes the pipe."""
    # Whatever Ray prints must not be among the messages.
    out = os.dup(1)
    os.dup2(2, 1)
    try:
        asyncio.run(_serve(out))
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
