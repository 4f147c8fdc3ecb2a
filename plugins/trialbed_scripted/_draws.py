"""Chance that is the same again for the same request."""

from __future__ import annotations

import hashlib
import random

from trialbed_scripted._requests import ReceivedRequest


def draw(what: bytes, seed: int, request: ReceivedRequest) -> random.Random:
    """Return chance for a decision: the same for the same seed, body and attempt."""
    digest = hashlib.sha256(b"%s %d %d " % (what, seed, request.attempt) + request.body).digest()
    return random.Random(digest)  # noqa: S311 - shall be the same again
