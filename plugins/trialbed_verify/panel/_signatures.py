"""Signatures: short vectors of hashes whose share of unequal places is a distance between sets of words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Any
from zlib import crc32

PLACES = 16
"""Hashes of a signature."""

MOST_WORDS = 400
"""Words of a text that count; a difference shows in the first ones."""

WORD = re.compile(r"[^\W_]+|[^\w\s]", re.UNICODE)
WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def words(text: str) -> list[str]:
    """Return the words of a text in lower case; writing without spaces is split into characters."""
    found = WORD.findall(WIDE.sub(lambda match: f" {match[0]} ", text[: 12 * MOST_WORDS].lower()))
    return found[:MOST_WORDS]


def signature(tokens: Iterable[str], exact: bytes = b"") -> bytes:
    """Return the signature of a set of tokens together with a part that must be equal as a whole.

    Two signatures with equal exact parts differ in about as many places as the Jaccard distance of their sets says
    (MinHash; A. Broder, "On the Resemblance and Containment of Documents", 1997). If the exact parts differ, all places
    do.

    Args:
        exact: a digest, or nothing.
    """
    import numpy as np

    hashed = np.fromiter({crc32(token.encode("utf-8", "surrogatepass")) for token in tokens}, dtype=np.uint64, count=-1)
    factors, offsets = _constants()
    if len(hashed):
        mixed = (hashed[:, None] * factors + offsets) & np.uint64(0xFFFFFFFF)
        least = (mixed.min(axis=0) >> np.uint64(8)).astype(np.uint16)
    else:
        least = np.zeros(PLACES, dtype=np.uint16)
    if exact:
        least = least ^ np.frombuffer(blake2b(exact, digest_size=2 * PLACES).digest(), dtype=np.uint16)
    return bytes(least.tobytes())


@lru_cache(maxsize=65536)
def code(text: str) -> int:
    """Return a number for a category, the same in every process; never 0."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest(), "big") + 1


@lru_cache(maxsize=1)
def _constants() -> tuple[Any, Any]:
    import numpy as np

    random = np.random.default_rng(20)
    factors = random.integers(1, 1 << 31, PLACES, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    return factors, random.integers(0, 1 << 32, PLACES, dtype=np.uint64)
