"""The messages between the engine and a scoring process: pickled, each behind its length."""

from __future__ import annotations

import pickle
import struct
from typing import Any, BinaryIO, NamedTuple

from trialbed.contracts import Verdict
from trialbed.records import Answer, Query, Score, WireLog
from trialbed.scoring import ScoreContext

HEADER = struct.Struct(">Q")
LONGEST = 64 * 2**20
"""Bytes of a message of a scoring process."""


class JudgeOrder(NamedTuple):
    """A judge that a scoring process makes for itself: a driver that asks no model.

    Attributes:
        foreign: whether it comes from another distribution than Trialbed.
    """

    driver: str
    votes: int
    prompts: str | None
    foreign: bool


class Order(NamedTuple):
    """A trial to score by one plugin.

    Attributes:
        context: without its judge.
        judge: the one to make; None to ask the engine for verdicts, text for a judge that has failed.
    """

    plugin: str
    context: ScoreContext
    judge: JudgeOrder | str | None


class Question(NamedTuple):
    """Asks the engine for a verdict of its judge."""

    query: Query
    answer: Answer
    wire: WireLog


class Judging(NamedTuple):
    """Says that the process's own judge begins, or has ended."""

    begins: bool


class Given(NamedTuple):
    """The scores of a plugin, or why it gave none."""

    scores: list[Score]
    failure: str | None = None


class Reply(NamedTuple):
    """The verdict that was asked for, or why there is none."""

    verdict: Verdict | None
    error: str = ""


def packed(message: Any) -> bytes:
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
