"""``python -m trialbed_ray.bridge``: Ray's driver of a run, which the engine starts and speaks with over pipes."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any

import ray
from ray.exceptions import RayActorError, RayTaskError

from trialbed.records import Record
from trialbed.worker import message_line
from trialbed_ray._messages import (
    LONGEST,
    TO_BRIDGE,
    Answered,
    Ask,
    Cancel,
    Connect,
    Connected,
    Lose,
    PlaceGone,
    PlaceOpen,
    Shun,
)
from trialbed_ray._place import Place

PAUSES = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds before a place is made again, after each time in a row that it ended without a trial that it answered."""

LAST = 15.0
"""Seconds in which places must have ended their workers."""

SHOWN = 300
"""Characters of a reason."""

GUESSES = " Some common causes include:"
"""Where Ray begins to list possible causes of a death, which are the same for all."""

NODE_ID = "ray.io/node-id"
"""The label that Ray gives each node."""


class Bridge:
    """Keeps as many places as there shall be, and passes on what they are asked.

    Args:
        order: the first message.
        out: the descriptor to which messages are written.
    """

    def __init__(self, order: Connect, out: int) -> None:
        self._host = ray.util.get_node_ip_address()
        self._setup = order.setup.model_dump_json()
        self._order = order
        self._out = out
        self._places: dict[int, Any] = {}
        self._nodes: dict[int, str] = {}
        self._ids: dict[str, str] = {}
        self._shunned: set[str] = set()
        self._proven: set[int] = set()
        self._asked: dict[int, asyncio.Task[None]] = {}
        self._last = 0
        options = {"num_cpus": order.cpus, "memory": order.memory, "scheduling_strategy": "SPREAD"}
        # Its list of tasks, which nobody reads here, takes a tenth of the time of a call.
        self._kind = ray.remote(max_restarts=0, max_task_retries=0, enable_task_events=False, **options)(Place)

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Serve until the input ends."""
        self._say(Connected(host=self._host))
        keeping = [asyncio.create_task(self._keep()) for _ in range(self._order.places)]
        while line := await reader.readline():
            message = TO_BRIDGE.validate_json(line)
            match message:
                case Ask():
                    self._asked[message.number] = asyncio.create_task(self._ask(message))
                case Cancel():
                    if task := self._asked.get(message.number):
                        task.cancel()
                case Lose():
                    for number, node in self._nodes.items():
                        if node == message.node:
                            ray.kill(self._places[number])
                case Shun(place=number):
                    if number in self._places:
                        self._shunned.add(self._ids[self._nodes[number]])
                        _kill(self._places[number])
                case _:
                    raise ValueError(f"a second {message.type}")
        with suppress(TimeoutError, Exception):
            async with asyncio.timeout(LAST):
                closing = (_result(place.close.remote()) for place in self._places.values())
                await asyncio.gather(*closing, return_exceptions=True)
        # Not earlier: a keeper that ends kills its place.
        for task in keeping:
            task.cancel()

    async def _keep(self) -> None:
        """Make a place, and another one when it is gone, as often as that happens."""
        failures = 0
        while True:
            self._last += 1
            number, reason, actor = self._last, "", None
            try:
                actor = self._kind.options(**self._elsewhere()).remote(self._setup)
                self._nodes[number] = self._named(await _result(actor.open.remote()))
                if self._ids[self._nodes[number]] in self._shunned:
                    # Ray was asked for it before that, and gave it the room that became free.
                    reason = "its node gets no more trials"
                else:
                    self._places[number] = actor
                    self._say(PlaceOpen(place=number, node=self._nodes[number]))
                    await _result(actor.live.remote())
            except Exception as error:  # noqa: BLE001 - Ray raises many: all mean that it is gone
                reason = _reason(error)
            finally:
                self._places.pop(number, None)
                self._nodes.pop(number, None)
                # It may only have been out of reach: its results are not awaited any more.
                _kill(actor)
            if number in self._proven:
                self._proven.discard(number)
                failures = 0
            self._say(PlaceGone(place=number, reason=reason or "its node has ended it"))
            await asyncio.sleep(PAUSES[min(failures, len(PAUSES) - 1)])
            failures += 1

    def _elsewhere(self) -> dict[str, Any]:
        """Options of an actor that is on none of the nodes that are shunned."""
        return {"label_selector": {NODE_ID: f"!in({','.join(sorted(self._shunned))})"}} if self._shunned else {}

    def _named(self, node: str) -> str:
        """Return the name of a node, which is short enough for people to read."""
        address, _, number = node.partition("/")
        name = f"{address}/{number[:6]}"
        self._ids[name] = number
        return name

    async def _ask(self, asked: Ask) -> None:
        try:
            answer = await self._answer(asked)
            self._say(answer)
            self._note(asked, answer)
        except asyncio.CancelledError:
            self._say(Answered(number=asked.number, lost="it was given up"))
            raise
        finally:
            del self._asked[asked.number]

    def _note(self, asked: Ask, answer: Answered) -> None:
        """End the place of an answer after which the engine uses it no more, so that another one is made."""
        if answer.lost or (answer.error and asked.method == "execute"):
            _kill(self._places.get(asked.place))
        elif asked.method == "execute":
            self._proven.add(asked.place)

    async def _answer(self, asked: Ask) -> Answered:
        place = self._places.get(asked.place)
        if place is None:
            return Answered(number=asked.number, lost="it is not there any more")
        reference = getattr(place, asked.method).remote(asked.argument)
        try:
            return Answered(number=asked.number, result=await _result(reference))
        except asyncio.CancelledError:
            ray.cancel(reference)
            with suppress(Exception):
                async with asyncio.timeout(LAST):
                    await _result(reference)
            raise
        except RayTaskError as error:
            cause = error.cause if isinstance(error.cause, Exception) else error
            return Answered(number=asked.number, error=type(cause).__name__, message=str(cause))
        except Exception as error:  # noqa: BLE001 - as above
            return Answered(number=asked.number, lost=_reason(error))

    def _say(self, message: Record) -> None:
        view = memoryview(message_line(message))
        while view:
            view = view[os.write(self._out, view) :]


def _kill(actor: Any) -> None:
    if actor is not None:
        with suppress(Exception):
            ray.kill(actor)


async def _result(reference: Awaitable[Any]) -> Any:
    return await reference


def _reason(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # The first line of a death is a heading, the last says what happened; of an error in the actor it is the error.
    shown = f"{lines[0]} {lines[-1]}" if isinstance(error, RayActorError) and len(lines) > 1 else lines[-1]
    known, _, _ = shown.partition(GUESSES)
    return re.sub(r"[Tt]he actor\b( [0-9a-f]{8,})?", "its actor", known)[:SHOWN].rstrip(". ")


async def _serve(order: Connect, out: int) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await Bridge(order, out).run(reader)


def _first_line() -> bytes:
    """Read the first line and no more: the rest is read by the event loop."""
    found = bytearray()
    while not found.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            sys.exit(0)
        found += byte
    return bytes(found)


def main() -> None:
    """Connect to the cluster, and serve the engine until it closes the pipe."""
    # Whatever Ray prints must not be among the messages.
    out = os.dup(1)
    os.dup2(2, 1)
    order = TO_BRIDGE.validate_json(_first_line())
    if not isinstance(order, Connect):
        sys.exit("the first message must be connect")
    try:
        ray.init(address=order.address or "auto", log_to_driver=False, logging_level="ERROR")
    except ConnectionError as error:
        sys.exit(f"there is no cluster at {order.address or 'the address that Ray knows'}: {_reason(error)}")
    try:
        asyncio.run(_serve(order, out))
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
