"""Texts that are encoded in others, as a framework encodes them that does not want them to be seen."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from urllib.parse import unquote_to_bytes

MOST = 1_000
"""Encoded parts of one text that are read."""

CODED = re.compile(r"[A-Za-z0-9+/_-]{8,}")
ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")
URL_SAFE = str.maketrans("-_", "+/")


SHORT = 500
"""Characters of a text that is read once: names and descriptions of tools come again with every request."""


def decoded_texts(text: str) -> Iterable[str]:
    """Return the texts in a text that are written in base64, in hexadecimal, with escapes of JSON, or for a URL."""
    return _short_texts(text) if len(text) <= SHORT else _decoded(text)


@lru_cache(maxsize=4096)
def _short_texts(text: str) -> tuple[str, ...]:
    return tuple(_decoded(text))


def _decoded(text: str) -> Iterator[str]:
    if ESCAPED.search(text):
        yield ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
    if "%" in text:
        yield from _text(unquote_to_bytes(text.encode(errors="replace")), text)
    for found in islice(CODED.finditer(text), MOST):
        code = found[0]
        try:
            yield from _text(bytes.fromhex(code), code)
        except ValueError:
            yield from _of_base64(code)


def _of_base64(code: str) -> Iterator[str]:
    whole = code[: len(code) - (len(code) % 4 == 1)].translate(URL_SAFE)
    try:
        yield from _text(base64.b64decode(whole + "=" * (-len(whole) % 4)), code)
    except binascii.Error:
        return


def _text(found: bytes, code: str) -> Iterator[str]:
    """Yield bytes as text where they are one that can be read, and another than the code."""
    try:
        text = found.decode()
    except UnicodeDecodeError:
        return
    if text != code and all(character.isprintable() or character.isspace() for character in text):
        yield text
