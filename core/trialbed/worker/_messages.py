"""The messages between an executor and a worker: one JSON object per line.

::

    executor                      worker
    hello {nonce}            →
                             ←    ready {info}           the adapter is loaded
                             ←    failed {error, message, detail}     or it is not; the worker ends
    begin {spec}             →
                             ←    started {trial}            the agent is about to be made
                             ←    clock {trial, running}     its work begins, and ends; the executor times it
                             ←    done {trial, outcome, spent}     the worker ends if it is spent
    begin {spec}             →    …
    (end of input)           →    the worker ends, busy or not

Every reply carries the nonce of ``hello``, so that no accidental print of a framework is taken for one.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from trialbed.records import FrameworkInfo, Outcome, Record, TrialSpec


class CommandSpec(Record):
    """The program of a worker.

    Attributes:
        arguments: the program's path and its arguments.
        version: distinguishes it from its other versions.
    """

    arguments: tuple[str, ...]
    version: str


class Hello(Record):
    """The first line: the nonce that marks the worker's replies."""

    type: Literal["hello"] = "hello"
    nonce: str


class Begin(Record):
    """Run this trial."""

    type: Literal["begin"] = "begin"
    spec: TrialSpec


class Ready(Record):
    """The adapter is loaded."""

    type: Literal["ready"] = "ready"
    nonce: str
    info: FrameworkInfo


class Failed(Record):
    """The adapter cannot be used: the class of the error in ``trialbed.errors``, its text, and the traceback."""

    type: Literal["failed"] = "failed"
    nonce: str
    error: str
    message: str
    detail: str = ""


class Started(Record):
    """The trial's agent is about to be made; from here on a failure is the trial's."""

    type: Literal["started"] = "started"
    nonce: str
    trial: str


class ClockSwitch(Record):
    """The trial's work begins now, or has ended: the executor reads its own clock when this arrives."""

    type: Literal["clock"] = "clock"
    nonce: str
    trial: str
    running: bool


class Done(Record):
    """The trial has ended.

    Attributes:
        spent: why the worker takes no other trial and ends; empty if it takes one.
    """

    type: Literal["done"] = "done"
    nonce: str
    trial: str
    outcome: Outcome
    spent: str = ""


Command = Annotated[Hello | Begin, Field(discriminator="type")]
"""A line to the worker."""

Reply = Annotated[Ready | Failed | Started | ClockSwitch | Done, Field(discriminator="type")]
"""A line from the worker."""

_COMMANDS: TypeAdapter[Hello | Begin] = TypeAdapter(Command)
_REPLIES: TypeAdapter[Ready | Failed | Started | ClockSwitch | Done] = TypeAdapter(Reply)


def read_command(line: bytes) -> Hello | Begin:
    """The command in a line.

    Raises:
        ValueError: the line is not a command.
    """
    return _COMMANDS.validate_json(line)


def read_reply(line: bytes, nonce: str) -> Ready | Failed | Started | ClockSwitch | Done:
    """The reply in a line.

    Raises:
        ValueError: the line is not a reply, or does not carry the nonce.
    """
    reply = _REPLIES.validate_json(line)
    if reply.nonce != nonce:
        raise ValueError("the message does not carry this worker's nonce")
    return reply


def message_line(message: Record) -> bytes:
    """The message as its line."""
    return message.model_dump_json().encode() + b"\n"
