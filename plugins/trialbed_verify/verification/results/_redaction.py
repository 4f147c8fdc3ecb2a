"""Redacts secrets in recorded JSON, in any of the ways an endpoint may encode them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import TypeVar
from urllib.parse import quote

from trialbed.records import Record
from trialbed.settings import MIN_SECRET, REDACTED
from trialbed.wire import dump_json, parse_json
from trialbed.wire.redaction import redaction_of
from trialbed_verify.verification.results._row import Row

R = TypeVar("R", bound=Record)

ENDS = (b'"', b"\\u2026", "…".encode())
"""Marks that follow a text that was cut off: the end of its string, or an ellipsis."""


class RowRedaction:
    """Replaces secrets in JSON texts.

    A secret is found however it is escaped or encoded, and truncated: its prefix counts at the end of a text.

    Args:
        secrets: those of fewer than 8 characters are ignored, as they occur in ordinary text by chance.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        secrets = tuple(secrets)
        self._redaction = redaction_of(secrets)
        spellings = {
            spelling.encode() for secret in secrets if len(secret) >= MIN_SECRET for spelling in _spellings(secret)
        }
        self._spellings = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))

    def line(self, line: bytes) -> bytes:
        """The JSON text without secrets; the same object if it holds none."""
        if self._redaction.finds(line.decode("utf-8", "replace")):
            line = dump_json(self._redaction.value(parse_json(line)))
        for spelling in [spelling for spelling in self._spellings if spelling[:MIN_SECRET] in line]:
            line = _without_prefixes(line, spelling)
        return line

    def row(self, row: Row) -> tuple[Row, bytes]:
        """Return the row without secrets, and its JSON; the same object if it holds none."""
        line = dump_json(row)
        redacted = self.line(line)
        return (row, line) if redacted is line else (parse_json(redacted), redacted)

    def record(self, record: R) -> R:
        """The record without secrets; the same object if it holds none."""
        text = record.model_dump_json().encode()
        redacted = self.line(text)
        return record if redacted is text else type(record).model_validate_json(redacted)


def _spellings(secret: str) -> Iterator[str]:
    """The ways to write a secret inside a JSON string."""
    for spelling in (secret, secret.replace("/", "\\/"), quote(secret, safe=""), _escape(secret)):
        yield _escape(spelling)


def _escape(text: str) -> str:
    return json.dumps(text)[1:-1]


def _without_prefixes(line: bytes, spelling: bytes) -> bytes:
    """The text without truncated copies of a secret."""
    head, parts, done = spelling[:MIN_SECRET], list[bytes](), 0
    at = line.find(head)
    while at >= 0:
        end = at + _common_prefix(line[at : at + len(spelling)], spelling)
        # A quotation mark after a backslash does not end the string.
        if line.startswith(ENDS, end) and not line.endswith(b"\\", at, end):
            parts += [line[done:at], REDACTED.encode()]
            done = end
        at = line.find(head, end)
    return b"".join((*parts, line[done:])) if parts else line


def _common_prefix(one: bytes, other: bytes) -> int:
    """The length of the common prefix."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
