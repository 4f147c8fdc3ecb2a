"""The messages between the engine, the bridge and the places, each one JSON object, and the connection with a place.

::

    engine                        bridge, over its standard streams
    connect {address, …}     →
                             ←    connected {host}
    make {place, token, …}   →                              an actor
                             ←    gone {place, reason}           after it has ended
    end {place}              →                              by force

    engine                        place, over a connection that the place makes
                             ←    greeting {token, node}
    server {url}             →
    describe {framework}     →
                             ←    described {info}, or failed {error, message}
    execute {spec}           →
                             ←    executed {outcome}, or failed {error, message}
    (end of the connection)  →    the place ends its workers, busy or not

Ray starts a place and watches it. Trials use a connection of their own, since a call of an actor takes more of the
processor's time than all else that a trial needs on its way. There, each message has its length before it.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, TypeAdapter

from trialbed.errors import SettingsError
from trialbed.records import FrameworkInfo, Outcome, Record, TrialSpec


class PlaceSetup(Record):
    """The settings of a place.

    Attributes:
        locks: label of a framework -> the lock of its own environment, which is built where it is needed.
        hidden: paths that no worker may see, where they exist; None for workers without a sandbox.
        options: of the local executor.
    """

    locks: dict[str, str] = Field(default={}, repr=False)
    hidden: tuple[Path, ...] | None = None
    options: dict[str, str] = Field(default={})


class Connect(Record):
    """The first message to the bridge.

    Attributes:
        address: of the cluster; empty for the one that Ray finds itself.
        cpus, memory: what Ray reserves for each place, in processors and bytes.
        setup: of all places.
    """

    type: Literal["connect"] = "connect"
    address: str = ""
    cpus: float
    memory: int
    setup: PlaceSetup


class MakePlace(Record):
    """Make a place, which connects with the engine.

    Attributes:
        host, port: where the engine listens.
        token: by which it knows the place.
    """

    type: Literal["make"] = "make"
    place: int
    host: str
    port: int
    token: str = Field(repr=False)


class EndPlace(Record):
    """End a place by force."""

    type: Literal["end"] = "end"
    place: int


class Connected(Record):
    """There is a cluster; ``host`` is this machine's address in it."""

    type: Literal["connected"] = "connected"
    host: str


class PlaceGone(Record):
    """A place is there no longer, or could not be made."""

    type: Literal["gone"] = "gone"
    place: int
    reason: str


class Greeting(Record):
    """The first message of a place.

    Attributes:
        token: that of ``MakePlace``.
        address: of the node. ``node``: the id of it.
    """

    token: str = Field(repr=False)
    address: str
    node: str


class UseServer(Record):
    """Learn where the server is; there is no answer."""

    type: Literal["server"] = "server"
    url: str


class Describe(Record):
    """Describe a framework, whose environment is built first if need be."""

    type: Literal["describe"] = "describe"
    number: int
    framework: str


class Execute(Record):
    """Run a trial."""

    type: Literal["execute"] = "execute"
    number: int
    spec: TrialSpec


class Described(Record):
    """The answer to ``Describe``."""

    type: Literal["described"] = "described"
    number: int
    info: FrameworkInfo


class Executed(Record):
    """The answer to ``Execute``."""

    type: Literal["executed"] = "executed"
    number: int
    outcome: Outcome


class NotDone(Record):
    """The answer to either: the class of the error that was raised, and its text."""

    type: Literal["failed"] = "failed"
    number: int
    error: str
    message: str


ToBridge = Connect | MakePlace | EndPlace
ToEngine = Connected | PlaceGone
Order = UseServer | Describe | Execute
Answer = Described | Executed | NotDone

TO_BRIDGE: TypeAdapter[ToBridge] = TypeAdapter(Annotated[ToBridge, Field(discriminator="type")])
TO_ENGINE: TypeAdapter[ToEngine] = TypeAdapter(Annotated[ToEngine, Field(discriminator="type")])
ORDER: TypeAdapter[Order] = TypeAdapter(Annotated[Order, Field(discriminator="type")])
ANSWER: TypeAdapter[Answer] = TypeAdapter(Annotated[Answer, Field(discriminator="type")])


LONGEST = 64 * 2**20
"""Bytes of a message; that of a worker, which is in it, has 32 MiB at most."""

PREFIX = 4
"""Bytes of a length."""

SILENCE = 60
"""Seconds without a message until the system asks whether the other end is there, and keeps the connection open."""

REACH = 30.0
"""Seconds in which the engine must be reached."""

CERTIFICATE_FILES = ("RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT")
"""Ray's variables of the files with which a cluster's connections are secured: certificate, key, authority."""


class PlaceConnection:
    """Sends and receives messages."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        own = writer.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if hasattr(socket, "TCP_KEEPIDLE"):
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, SILENCE)

    @classmethod
    async def open(cls, host: str, port: int) -> Self:
        """Connect with the engine.

        Raises:
            ConnectionError: it is not there, or is not to be trusted.
            SettingsError: the cluster's certificates cannot be used here.
        """
        try:
            async with asyncio.timeout(REACH):
                return cls(*await asyncio.open_connection(host, port, ssl=security(ssl.Purpose.SERVER_AUTH)))
        except OSError as error:
            reason = str(error) or f"no answer within {REACH:g} s"
            raise ConnectionError(f"the engine cannot be reached at {host}:{port}: {reason}") from error

    async def read(self, most: int = LONGEST) -> bytes:
        """Return the next message, of so many bytes at most.

        Raises:
            EOFError: the other end has hung up.
            OSError: the connection broke.
            ValueError: the message is longer.
        """
        length = int.from_bytes(await self._reader.readexactly(PREFIX), "big")
        if length > most:
            raise ValueError(f"a message has {length} bytes, more than {most}")
        return await self._reader.readexactly(length)

    def send(self, message: Record) -> None:
        """Send a message; nothing happens where the connection has ended."""
        text = message.model_dump_json().encode()
        self._writer.write(len(text).to_bytes(PREFIX, "big") + text)

    def close(self) -> None:
        """Hang up at once."""
        self._writer.transport.abort()


def security(purpose: ssl.Purpose) -> ssl.SSLContext | None:
    """Return that which the cluster has, by Ray's own variables; None where it has none.

    Raises:
        SettingsError: a key or a certificate cannot be used; names the variables and the files.
    """
    if os.environ.get("RAY_USE_TLS", "0").lower() not in ("1", "true"):
        return None
    certificate, key, authority = files = [os.environ.get(name, "") for name in CERTIFICATE_FILES]
    try:
        # Without a file of its authority, Python trusts those of the system.
        context = ssl.create_default_context(purpose, cafile=authority or os.devnull)
        context.load_cert_chain(certificate, key)
    except OSError as error:
        named = ", ".join(f"{name}={file}" for name, file in zip(CERTIFICATE_FILES, files, strict=True))
        raise SettingsError(f"RAY_USE_TLS: the cluster's certificates cannot be used ({named}): {error}") from error
    # As in Ray, both ends show a certificate of the cluster's authority, which need not name the machine.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    return context
