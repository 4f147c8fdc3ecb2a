"""Secrets are kept out of what is recorded, however an endpoint spells them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any
from urllib.parse import quote

from trialbed.secrets import MIN_SECRET, REDACTED

ENDS = (b'"', b"\\u2026", "…".encode())
"""What follows where a text was cut: the end of its string, or the sign that there was more."""


class Redaction:
    """Replaces secrets in JSON texts.

    A secret is found as it is, escaped as in JSON or a URL, and cut off where a longer text was cut: its beginning
    right before the end of a text counts.

    Args:
        secrets: those of fewer than 8 characters are left out, as they stand in ordinary text by chance.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        spellings = {
            spelling.encode() for secret in secrets if len(secret) >= MIN_SECRET for spelling in _spellings(secret)
        }
        self._spellings = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))

    def line(self, line: bytes) -> bytes:
        """A JSON text without the secrets; the same object where it holds none."""
        found = [spelling for spelling in self._spellings if spelling[:MIN_SECRET] in line]
        for spelling in found:
            line = line.replace(spelling, REDACTED.encode()) if spelling in line else line
        for spelling in found:
            line = _without_beginnings(line, spelling)
        return line

    def document(self, document: dict[str, Any]) -> dict[str, Any]:
        """A JSON document without the secrets; the same object where it holds none."""
        text = json.dumps(document).encode()
        kept = self.line(text)
        return document if kept is text else dict(json.loads(kept))


def _spellings(secret: str) -> Iterator[str]:
    """What stands for a secret in the text of a JSON string."""
    for spelling in (secret, secret.replace("/", "\\/"), quote(secret, safe=""), _escaped(secret)):
        yield _escaped(spelling)


def _escaped(text: str) -> str:
    return json.dumps(text)[1:-1]


def _without_beginnings(line: bytes, spelling: bytes) -> bytes:
    """The text without the beginnings of a secret at which it was cut."""
    head, parts, done = spelling[:MIN_SECRET], list[bytes](), 0
    at = line.find(head)
    while at >= 0:
        end = at + _alike(line[at : at + len(spelling)], spelling)
        # A quotation mark behind a backslash is no end.
        if line.startswith(ENDS, end) and not line.endswith(b"\\", at, end):
            parts += [line[done:at], REDACTED.encode()]
            done = end
        at = line.find(head, end)
    return b"".join((*parts, line[done:])) if parts else line


def _alike(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
