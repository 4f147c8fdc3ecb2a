"""The engine's end: the bridge, and the places that it is asked for and that have connected."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import secrets
import ssl
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress

from pydantic import ValidationError

from trialbed.child_processes import end_process
from trialbed.errors import NothingMeasured
from trialbed.records import Record
from trialbed.worker import WORKER_MARK, message_line, worker_environment
from trialbed_ray._messages import (
    ANSWER,
    TO_ENGINE,
    Answer,
    Connect,
    Connected,
    Describe,
    EndPlace,
    Execute,
    Executed,
    Greeting,
    MakePlace,
    PlaceConnection,
    PlaceGone,
    ToEngine,
    UseServer,
    security,
)

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


PAUSES = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds before a place is made again, after each time in a row that it ended without a trial that it answered."""

GREETING = 20.0
"""Seconds in which whoever connects must say which place it is."""

SHORT = 4096
"""Bytes of that."""

WORDS = 5.0
"""Seconds that the cluster has to say why a place is gone whose connection has ended."""

RENEWALS = (20.0, 60.0, 180.0)
"""Seconds without any place, after there were some, before the cluster is connected with anew; the last one repeats.

A driver whose head was replaced takes the new one for its own, which knows nothing of it.
"""

NO_WORDS = "its connection has ended"
UNREADABLE = "it has sent a message that cannot be read"


class PlaceLost(Exception):
    """A place is gone, and its answer is not known; says why it is gone."""


class OpenPlace:
    """A place that there is now.

    Attributes:
        node: the name of its node, short enough for people to read.
        busy: whether it runs a trial. ``loaded``: the frameworks of which it may have an idle worker.
        proven: whether it has answered a trial.
    """

    def __init__(self, number: int, greeting: Greeting, connection: PlaceConnection) -> None:
        self.number = number
        self.node = f"{greeting.address}/{greeting.node[:6]}"
        self.busy = False
        self.loaded: set[str] = set()
        self.proven = False
        self._connection = connection
        self._asked: dict[int, asyncio.Future[Answer]] = {}

    async def ask(self, order: Describe | Execute) -> Answer:
        """Have something done, and return the answer.

        Raises:
            PlaceLost: there is none.
        """
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked[order.number] = answer
        self._connection.send(order)
        try:
            return await answer
        finally:
            del self._asked[order.number]

    def use(self, server_url: str) -> None:
        """Say where the server is."""
        self._connection.send(UseServer(url=server_url))

    async def read(self) -> str:
        """Take answers until the connection ends, or one cannot be read; returns why that is."""
        try:
            while True:
                answer = ANSWER.validate_json(await self._connection.read())
                self.proven = self.proven or isinstance(answer, Executed)
                asked = self._asked.get(answer.number)
                if asked is not None and not asked.done():
                    asked.set_result(answer)
        except (EOFError, OSError):
            return ""
        except ValueError as error:
            return UNREADABLE if isinstance(error, ValidationError) else str(error)

    def hang_up(self) -> None:
        """End the connection, and with it the place."""
        self._connection.close()

    def fail(self, reason: str) -> None:
        """Leave all that it was asked for without an answer."""
        for asked in self._asked.values():
            if not asked.done():
                asked.set_exception(PlaceLost(reason))


class Places:
    """Keeps places, each made anew when it is gone.

    Args:
        order: the first message to every bridge.
        number: how many places there shall be.
        gone: is given the reason when one is gone, or the cluster.

    Attributes:
        open: those that there are now, by number.
        host: this machine's address in the cluster, once there is one.
    """

    def __init__(self, order: Connect, number: int, gone: Callable[[str], None]) -> None:
        self.open: dict[int, OpenPlace] = {}
        self.host = ""
        self._number = number
        self._note_gone = gone
        self._port = 0
        self._server_url = ""
        self._numbers = itertools.count(1)
        # Token of a place that is being made -> its greeting, once it connects.
        self._awaited: dict[str, asyncio.Future[tuple[Greeting, PlaceConnection]]] = {}
        self._gone: dict[int, asyncio.Future[str]] = {}
        self._connected = asyncio.Event()
        self._change = asyncio.Event()
        self._keeping: list[asyncio.Task[None]] = []
        self._listening: asyncio.Server | None = None
        self._greeting: set[asyncio.StreamWriter] = set()
        self._renewed = 0
        self._renewal: asyncio.TimerHandle | None = None
        self._link = Link(order, self._take, self._disconnect)

    async def begin(self, host: str | None) -> None:
        """Wait for a cluster, and ask it for places, which connect with this address of this machine.

        Raises:
            NothingMeasured: there is no such address.
            SettingsError: the cluster's certificates cannot be used here.
        """
        protection = security(ssl.Purpose.CLIENT_AUTH)
        await self._connected.wait()
        self.host = host or self.host
        try:
            self._listening = await asyncio.start_server(self._greet, self.host, 0, ssl=protection)
        except OSError as error:
            raise NothingMeasured(
                f"--executor ray: places cannot connect with {self.host}: {error}; --executor-option host=ADDRESS "
                "names an address of this machine"
            ) from error
        self._port = self._listening.sockets[0].getsockname()[1]
        self._keeping = [asyncio.create_task(self._keep()) for _ in range(self._number)]

    async def close(self) -> None:
        """End all places, and the connection with the cluster."""
        self._expect(there=True)
        if self._listening is not None:
            self._listening.close()
        for writer in self._greeting:
            writer.transport.abort()
        for task in self._keeping:
            task.cancel()
        if self._keeping:
            await asyncio.wait(self._keeping)
        await self._link.close()

    async def changed(self) -> None:
        """Wait until something about the places has changed."""
        await self._change.wait()

    def wake(self) -> None:
        """Say that something has."""
        self._change.set()
        self._change = asyncio.Event()

    def use(self, server_url: str) -> None:
        """Say to all places, and to those that come later, where the server is."""
        self._server_url = server_url
        for place in self.open.values():
            place.use(server_url)

    def drop(self, place: OpenPlace) -> None:
        """End a place, so that another one is made."""
        self._remove(place)
        place.hang_up()
        self._link.send(EndPlace(place=place.number))

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._greeting.add(writer)
        try:
            if self._listening is not None and not self._listening.is_serving():
                raise ConnectionAbortedError("it was taken while all places ended")
            connection = PlaceConnection(reader, writer)
            async with asyncio.timeout(GREETING):
                greeting = Greeting.model_validate_json(await connection.read(SHORT))
            self._awaited.pop(greeting.token).set_result((greeting, connection))
        except (EOFError, OSError, ValueError, KeyError, asyncio.CancelledError):
            # Not a place, or one that is given up.
            writer.transport.abort()
        finally:
            self._greeting.discard(writer)

    async def _keep(self) -> None:
        """Make a place, and another one when it is gone, as often as that happens."""
        failures = 0
        while True:
            await self._connected.wait()
            reason, proven = await self._one()
            self._note_gone(reason)
            self.wake()
            failures = 0 if proven else failures
            await asyncio.sleep(PAUSES[min(failures, len(PAUSES) - 1)])
            failures += 1

    async def _one(self) -> tuple[str, bool]:
        """Make a place and use it until it is gone; returns why, and whether it answered a trial."""
        loop = asyncio.get_running_loop()
        number, token = next(self._numbers), secrets.token_hex(16)
        gone: asyncio.Future[str] = loop.create_future()
        comes: asyncio.Future[tuple[Greeting, PlaceConnection]] = loop.create_future()
        self._gone[number], self._awaited[token] = gone, comes
        self._link.send(MakePlace(place=number, host=self.host, port=self._port, token=token))
        place = None
        try:
            await asyncio.wait((gone, comes), return_when=asyncio.FIRST_COMPLETED)
            if comes.done():
                place = OpenPlace(number, *comes.result())
                await self._use(place, gone)
            return await gone, place is not None and place.proven
        finally:
            del self._gone[number]
            self._awaited.pop(token, None)
            if comes.done():
                comes.result()[1].close()
            else:
                self._link.send(EndPlace(place=number))

    async def _use(self, place: OpenPlace, gone: asyncio.Future[str]) -> None:
        """Have a place open until it is gone, or its connection has ended, which is often seen before."""
        self._open(place)
        reading = asyncio.create_task(place.read())
        try:
            await asyncio.wait((reading, gone), return_when=asyncio.FIRST_COMPLETED)
            self._remove(place)
            if reading.done() and reading.result():
                self._end(place.number, reading.result())
            if not gone.done():
                await asyncio.wait({gone}, timeout=WORDS)
            self._link.send(EndPlace(place=place.number))
        finally:
            reading.cancel()
            place.fail(gone.result() if gone.done() else NO_WORDS)

    def _open(self, place: OpenPlace) -> None:
        self.open[place.number] = place
        self._renewed = 0
        self._expect(there=True)
        if self._server_url:
            place.use(self._server_url)
        self.wake()

    def _remove(self, place: OpenPlace) -> None:
        if self.open.pop(place.number, None) is None:
            return
        if not self.open:
            self._expect(there=False)
        self.wake()

    def _take(self, message: ToEngine) -> None:
        match message:
            case Connected(host=host):
                self.host = self.host or host
                self._connected.set()
            case PlaceGone(place=number, reason=reason):
                self._end(number, reason)

    def _disconnect(self, reason: str) -> None:
        self._connected.clear()
        self._note_gone(reason)
        for number in self._gone:
            self._end(number, reason)
        self.wake()

    def _end(self, number: int, reason: str) -> None:
        gone = self._gone.get(number)
        if gone is not None and not gone.done():
            gone.set_result(reason)

    def _expect(self, *, there: bool) -> None:
        """Connect anew if the last place is gone and none comes; not where there has been none yet."""
        if self._renewal is not None:
            self._renewal.cancel()
            self._renewal = None
        if not there:
            seconds = RENEWALS[min(self._renewed, len(RENEWALS) - 1)]
            self._renewal = asyncio.get_running_loop().call_later(seconds, self._renew)

    def _renew(self) -> None:
        self._renewed += 1
        self._link.restart()
        self._expect(there=False)
