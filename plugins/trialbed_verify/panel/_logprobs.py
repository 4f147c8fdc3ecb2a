"""The probabilities of the first token's alternatives, where an endpoint gives them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any
from zlib import crc32

BUCKETS = 64
"""Places among which tokens are spread by their hash; one more holds the probability that is not listed."""

LEAST = 1e-4
"""Probability below which alternatives count as equally likely: rounding and ties decide there."""


def first_token(choice: Mapping[str, Any]) -> bytes | None:
    """Return the probabilities as half-precision numbers; None if the answer has none."""
    if not isinstance(choice.get("logprobs"), Mapping):
        return None
    import numpy as np

    found = np.zeros(BUCKETS + 1, dtype=np.float64)
    for token, logprob in _alternatives(choice.get("logprobs")):
        found[crc32(token.encode("utf-8", "surrogatepass")) % BUCKETS] += math.exp(min(0.0, logprob))
    total = found.sum()
    if total <= 0:
        return None
    found[BUCKETS] = max(0.0, 1.0 - total)
    return bytes((found / found.sum()).astype(np.float16).tobytes())


def divergence(one: Any, other: Any) -> Any:
    """Return the mean of both Kullback-Leibler divergences of probabilities along the last axis, at most 1."""
    import numpy as np

    one, other = (np.maximum(side.astype(np.float32), LEAST) for side in (one, other))
    one, other = one / one.sum(-1, keepdims=True), other / other.sum(-1, keepdims=True)
    return np.minimum(1.0, 0.5 * ((one - other) * (np.log(one) - np.log(other))).sum(-1))


def _alternatives(logprobs: Any) -> Iterator[tuple[str, float]]:
    """Yield tokens with their logarithms: of chat completions, else of completions."""
    if not isinstance(logprobs, Mapping):
        return
    content = logprobs.get("content")
    if isinstance(content, list) and content and isinstance(content[0], Mapping):
        listed = content[0].get("top_logprobs") or [content[0]]
        for found in listed if isinstance(listed, list) else ():
            if isinstance(found, Mapping) and isinstance(found.get("logprob"), int | float):
                yield str(found.get("token")), float(found["logprob"])
        return
    top = logprobs.get("top_logprobs")
    first = top[0] if isinstance(top, list) and top else None
    if isinstance(first, Mapping):
        for token, value in first.items():
            if isinstance(value, int | float):
                yield str(token), float(value)
