"""Puts the model's own name into a request in which the framework names it by the name that it was given."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()

Span = tuple[int, int]


def with_model(body: bytes, given: str, own: str) -> bytes:
    """The request with the model's own name where it bears the one that was given; all other bytes stay.

    A request that names another model, or none, or that cannot be read is left as it is: the answer to it is the
    framework's doing.
    """
    if given == own:
        return body
    try:
        text = body.decode()
        spans = [span for span in _models(text) if json.loads(text[slice(*span)]) == given]
    except (ValueError, RecursionError, IndexError):
        return body
    for start, end in reversed(spans):
        text = f"{text[:start]}{json.dumps(own)}{text[end:]}"
    return text.encode()


def _models(text: str) -> Iterator[Span]:
    """Yield the places where the values of ``model`` stand at the top of a JSON object.

    Raises:
        ValueError, IndexError: it is not one.
    """
    place = _after_space(text, 0)
    if text[place] != "{":
        return
    place = _after_space(text, place + 1)
    while text[place] == '"':
        name, place = _DECODER.raw_decode(text, place)
        start = _after_space(text, _after_space(text, place) + 1)
        _, end = _DECODER.raw_decode(text, start)
        if name == "model":
            yield start, end
        place = _after_space(text, end)
        place = _after_space(text, place + 1) if text[place] == "," else place


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place
