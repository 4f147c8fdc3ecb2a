"""Requests as a scripted model's server receives them."""

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
        number: among the server's, from 0.
        document: the JSON object that was sent.
        body: the same, as it came.
        headers: names in lower case.
        attempt: how often the same body came before.
        repeats: whether it came before and met a fault then.
        dialect: the name of the dialect in which it is written.
        problem: why its body is not a JSON object; empty if it is one.
        place: the name before ``/v1`` in its path, of a fault of the atlas.
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
        """The dialect itself."""
        return dialect(self.dialect)

    def draw(self, what: bytes, seed: int) -> random.Random:
        """Return chance for a decision: the same for the same seed, body and attempt."""
        digest = hashlib.sha256(b"%s %d %d " % (what, seed, self.attempt) + self.body).digest()
        return random.Random(digest)  # noqa: S311 - shall be the same again

    @cached_property
    def asked(self) -> ModelRequest:
        """The request as it is read: its conversation, its tools."""
        return self.spoken.read_request(self.document)
