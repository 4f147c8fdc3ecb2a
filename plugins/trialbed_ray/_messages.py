"""The messages between the engine and the bridge: one JSON object per line, each way."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from trialbed.records import Record

LONGEST = 128 * 2**20
"""Bytes of a message. A worker's message of 32 MiB doubles at most, as it is a text in another one."""


class PlaceSetup(Record):
    """The settings of a place.

    Attributes:
        locks: label of a framework -> the lock of its own environment, which is built where it is needed.
        sandbox: of the workers; empty for none. ``hidden``: paths that no worker may see, where they exist.
        options: of the local executor.
    """

    locks: dict[str, str] = Field(default={}, repr=False)
    sandbox: str = ""
    hidden: tuple[str, ...] = ()
    options: dict[str, str] = Field(default={})


class Connect(Record):
    """The first message to the bridge.

    Attributes:
        address: of the cluster; empty for the one that Ray finds itself.
        places: how many there shall be at most.
        cpus, memory: what Ray reserves for each, in processors and bytes.
    """

    type: Literal["connect"] = "connect"
    address: str = ""
    places: int
    cpus: float
    memory: int
    setup: PlaceSetup


class Ask(Record):
    """Have a place do something; every one is answered once.

    Attributes:
        method: of ``Place``. ``argument``: of the method, as a text.
    """

    type: Literal["ask"] = "ask"
    number: int
    place: int
    method: Literal["connect", "describe", "execute"]
    argument: str


class Cancel(Record):
    """Give up the order of this number."""

    type: Literal["cancel"] = "cancel"
    number: int


class Lose(Record):
    """End the places of a node by force."""

    type: Literal["lose"] = "lose"
    node: str


class Shun(Record):
    """End a place, and make none on its node any more."""

    type: Literal["shun"] = "shun"
    place: int


class Connected(Record):
    """There is a cluster; ``host`` is this machine's address in it."""

    type: Literal["connected"] = "connected"
    host: str


class PlaceOpen(Record):
    """A place can be used."""

    type: Literal["open"] = "open"
    place: int
    node: str


class PlaceGone(Record):
    """A place is there no longer, or could not be made."""

    type: Literal["gone"] = "gone"
    place: int
    reason: str


class Answered(Record):
    """The end of an order.

    Attributes:
        result: as JSON; empty if there is none.
        error: the class of Trialbed's error that was raised, and ``message``, its text. ``lost``: why nothing is known.
    """

    type: Literal["answered"] = "answered"
    number: int
    result: str = ""
    error: str = ""
    message: str = ""
    lost: str = ""


ToBridge = Connect | Ask | Cancel | Lose | Shun
ToEngine = Connected | PlaceOpen | PlaceGone | Answered

TO_BRIDGE: TypeAdapter[ToBridge] = TypeAdapter(Annotated[ToBridge, Field(discriminator="type")])
TO_ENGINE: TypeAdapter[ToEngine] = TypeAdapter(Annotated[ToEngine, Field(discriminator="type")])
