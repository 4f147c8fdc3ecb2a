"""Requests received by a scripted model's server."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from trialbed.wire import ModelRequest
from trialbed.wire.dialects import CHAT, Dialect, dialect


@dataclass(frozen=True)
class ReceivedRequest:
    """A request to a model.

    Attributes:
        number: its position on the server, from 0.
        document: the JSON object that was sent.
        body: the raw bytes of the document.
        headers: names in lower case.
        attempt: the number of earlier requests with the same body.
        repeats: whether the last request with the same body met a fault.
        dialect: the name of its dialect.
        problem: the reason its body is not a JSON object; empty if it is one.
        place: the fault of the atlas that its path names before ``/v1``.
    """

    number: int
    document: Mapping[str, Any]
    body: bytes = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    attempt: int = 0
    repeats: bool = False
    dialect: str = CHAT
    problem: str = ""
    place: str = ""

    @property
    def spoken(self) -> Dialect:
        """The dialect object."""
        return dialect(self.dialect)

    def draw(self, what: bytes, seed: int) -> random.Random:
        """Return a random generator for a decision. It depends only on the seed, the body and the attempt."""
        digest = hashlib.sha256(b"%s %d %d " % (what, seed, self.attempt) + self.body).digest()
        return random.Random(digest)  # noqa: S311 - has to be reproducible

    @cached_property
    def asked(self) -> ModelRequest:
        """The parsed request, with its conversation and tools."""
        return self.spoken.read_request(self.document)
