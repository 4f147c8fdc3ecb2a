"""The messages between the engine and a scoring process: pickled, each behind its length."""

from __future__ import annotations

import pickle
import struct
from typing import Any, BinaryIO, Literal, NamedTuple

from trialbed.contracts import Verdict
from trialbed.records import Answer, ModelEndpoint, Query, WireLog

HEADER = struct.Struct(">Q")
LONGEST = 64 * 2**20
"""Bytes of a message of a scoring process."""


class JudgeOrder(NamedTuple):
    """A judge that a scoring process makes for itself.

    Attributes:
        foreign: whether it comes from another distribution than Trialbed.
        endpoint: of the model that it asks, through the engine; None if it asks none.
    """

    driver: str
    votes: int
    prompts: str | None
    foreign: bool
    endpoint: ModelEndpoint | None = None


class Order(NamedTuple):
    """A method of the process's ``Worker`` to call: ``score``, ``ask_judge`` or ``call``."""

    method: Literal["score", "ask_judge", "call"]
    arguments: tuple[Any, ...]


class Question(NamedTuple):
    """Asks the engine for a verdict of its judge."""

    query: Query
    answer: Answer
    wire: WireLog


class Judging(NamedTuple):
    """Says that the process's own judge begins, or has ended."""

    begins: bool


class ModelStep(NamedTuple):
    """Asks the engine for a step of its access to the judge's model."""

    name: str
    arguments: tuple[Any, ...]


class Given(NamedTuple):
    """The result of an order, or why there is none."""

    result: Any
    failure: str | None = None


class Reply(NamedTuple):
    """What a judge was asked for, or why there is none."""

    verdict: Verdict | None
    error: str = ""


class StepDone(NamedTuple):
    """The result of a step, or the error that it raised."""

    result: Any
    error: Exception | None = None


def pack_message(message: Any) -> bytes:
    """Return a message as bytes."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return HEADER.pack(len(body)) + body


def read_message(stream: BinaryIO) -> Any:
    """Read the next message.

    Raises:
        EOFError: the other side has ended.
    """
    head = stream.read(HEADER.size)
    if len(head) < HEADER.size:
        raise EOFError
    (length,) = HEADER.unpack(head)
    return pickle.loads(stream.read(length))  # noqa: S301 - the engine is the other side
