"""Vectors of texts, which the gateway makes up for models that answer there, and an endpoint for all others."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import struct
from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

from trialbed.records import EmbeddingCall
from trialbed.wire import parse_object
from trialbed.wire.estimates import BYTES_PER_TOKEN
from trialbed_server.gateway.exchange import LONGEST_NAME, RecordedExchange, Refused

PATH = "embeddings"

DIMENSIONS = 1536
"""The default size of a vector."""

MOST_DIMENSIONS, MOST_TEXTS = 4096, 2048
"""Bounds of one request."""

MOST_NUMBERS, MOST_WORDS_TOGETHER = MOST_TEXTS * DIMENSIONS, 300_000
"""Limits of a request's texts together; OpenAI's endpoint takes as many tokens as this one takes words."""

PLACES = 8
"""Numbers of a vector that a word changes."""

WORD = re.compile(r"\w+")


class BadRequest(Refused):
    """A request for vectors that cannot be answered; the text says why."""


class MadeVectors(NamedTuple):
    """An answer of the gateway's own.

    Attributes:
        body: of the answer, as JSON.
        tokens: of the texts, about.
    """

    body: bytes
    tokens: int


def embed(body: bytes) -> MadeVectors:
    """Answer a request with vectors that depend only on the words of its texts.

    Texts that share words are near each other, as a memory expects, and equal texts have equal vectors. That takes
    seconds for the largest requests: it is for another thread, which gives way to others between two texts.

    Raises:
        BadRequest: the body is not such a request.
    """
    request, problem = parse_object(body)
    if problem:
        raise BadRequest(problem)
    texts = _texts(request.get("input"))
    size = request.get("dimensions") or DIMENSIONS
    if not isinstance(size, int) or not 1 <= size <= MOST_DIMENSIONS:
        raise BadRequest(f"'dimensions' must be a number from 1 to {MOST_DIMENSIONS}")
    if len(texts) * size > MOST_NUMBERS:
        raise BadRequest(f"{len(texts)} texts of {size} dimensions are more than {MOST_NUMBERS} numbers in one request")
    packed = request.get("encoding_format") == "base64"
    data, left = [], MOST_WORDS_TOGETHER
    for index, text in enumerate(texts):
        words = [word[0] for word in islice(WORD.finditer(text.casefold()), left + 1)]
        left -= len(words)
        if left < 0:
            raise BadRequest(f"the texts of one request may have {MOST_WORDS_TOGETHER} words together")
        vector = _vector(words, size)
        # Written one by one: no other thread runs while a text is written as JSON.
        floats = struct.pack(f"<{size}f", *vector) if packed else b""
        embedding = base64.b64encode(floats).decode() if packed else vector
        data.append(json.dumps({"object": "embedding", "index": index, "embedding": embedding}))
    tokens = sum(max(1, len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN) for text in texts)
    rest = {"model": str(request.get("model") or ""), "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}
    written = f'{{"object": "list", "data": [{", ".join(data)}], {json.dumps(rest)[1:]}'
    return MadeVectors(written.encode("ascii"), tokens)


def record_embedding(
    exchange: RecordedExchange, *, started: float, duration: float, made: MadeVectors | None
) -> EmbeddingCall:
    """Return the record of a request. Tokens are estimated unless reported; None for a refused request."""
    request, status = exchange.request.document, exchange.status
    try:
        texts = len(_inputs(request.get("input")))
    except BadRequest:
        request, texts = {}, 0
    model = str(request.get("model") or "")[:LONGEST_NAME]
    tokens = reported_tokens(exchange.answer) if made is None else made.tokens
    estimated = tokens is None and status < 400
    if estimated:
        tokens = len(exchange.body) // BYTES_PER_TOKEN
    return EmbeddingCall(
        started=started, duration=duration, status=status, model=model, texts=texts, tokens=tokens, estimated=estimated
    )


def reported_tokens(answer: bytes) -> int | None:
    """Return the tokens that an endpoint's answer reports, if it does."""
    try:
        found = json.loads(answer)["usage"]["prompt_tokens"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return found if isinstance(found, int) and found >= 0 else None


def _texts(given: Any) -> list[str]:
    """Return the texts of a request; tokens count as the words that their numbers are."""
    return [one if isinstance(one, str) else " ".join(map(str, one)) for one in _inputs(given)]


def _inputs(given: Any) -> list[Any]:
    """Return the texts of a request, or the lists of their tokens."""
    found = [given] if isinstance(given, str) else given
    if isinstance(found, list) and found and all(isinstance(one, int) for one in found):
        found = [found]
    if not isinstance(found, list) or not 1 <= len(found) <= MOST_TEXTS:
        raise BadRequest(f"'input' must be a text, or a list of 1 to {MOST_TEXTS} texts")
    if not all(isinstance(one, str | list) for one in found):
        raise BadRequest("'input' must consist of texts, or of lists of tokens")
    return found


def _vector(words: Iterable[str], size: int) -> list[float]:
    found = [0.0] * size
    for word in words:
        for value in struct.unpack_from(f"<{PLACES}I", hashlib.sha256(word.encode("utf-8", "replace")).digest()):
            found[(value >> 1) % size] += 1.0 if value & 1 else -1.0
    length = math.sqrt(sum(value * value for value in found))
    return [value / length for value in found] if length else [1.0, *found[1:]]
