"""The messages between the engine, the bridge and the places, each of them one JSON object.

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
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

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
        shunned: ids of the nodes on which the place may not be.
    """

    type: Literal["make"] = "make"
    place: int
    host: str
    port: int
    token: str = Field(repr=False)
    shunned: tuple[str, ...] = ()


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
