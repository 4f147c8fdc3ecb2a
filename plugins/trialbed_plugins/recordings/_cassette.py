"""A cassette: the recorded answers of a model, in one file.

The file is JSON by lines, compressed with xz. Its first line names the format, the version and the model. A message or
a tool stands in it once, under its digest; the rest are answers, in the order of their keys. Nothing in it depends on
when or where it was written, so that equal recordings are equal files.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from trialbed.errors import DataError, UsageError
from trialbed.files import replacing
from trialbed.wire import parse_json
from trialbed.wire.dialects import CHAT, dialect
from trialbed_plugins.recordings._key import VERSION, canonical_text, request_key
from trialbed_plugins.recordings._replies import RecordedAnswer, RecordedReply, Replies, whole_request

FORMAT = "trialbed cassette"
MOST = 4 * 2**30
"""Bytes of a cassette when it is not compressed; a file can claim to be any number."""

LONGEST_LINE = 64 * 2**20
"""Bytes of one line."""


@dataclass(frozen=True)
class Cassette:
    """The recorded answers of one model.

    Attributes:
        model: its name. ``identity``: as its driver gave it, else the name.
        told: the name that frameworks were given.
    """

    model: str
    identity: str
    told: str
    replies: Replies = field(repr=False)

    def find(self, text: str, *, seed: int, occurrence: int) -> RecordedAnswer | None:
        """The answer to a canonical request; None where it was not recorded."""
        return self.replies.answer(request_key(text, identity=self.identity, seed=seed, occurrence=occurrence))

    def has_seed(self, seed: int) -> bool:
        """Return whether trials with a seed were recorded."""
        return self.replies.has_seed(seed)

    def of_seed(self, seed: int) -> Sequence[RecordedReply]:
        """The answers of the trials with a seed, which are those of one query and repeat."""
        return self.replies.of_seed(seed)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of its content, by which equal recordings are recognised."""
        found = hashlib.sha256()
        for line in self.lines():
            found.update(line)
        return found.hexdigest()

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of its file."""
        named = {"model": self.model, "identity": self.identity, "told": self.told, "replies": len(self.replies)}
        yield _line({"format": FORMAT, "version": VERSION, **named})
        for reply, parts in self.replies.by_key():
            for digest, part in parts:
                yield _line({"digest": digest, "part": part})
            yield _line(asdict(reply))


def keyed(identity: str, replies: Iterable[RecordedReply]) -> tuple[Replies, int]:
    """Return replies under their keys, and how many were left out: an earlier one has their key and says otherwise."""
    found = Replies()
    conflicts = 0
    for reply in replies:
        key = _key_of(reply, identity)
        if not found.add(key, reply):
            kept = found[key]
            conflicts += kept.body != reply.body and _answer_of(kept) != _answer_of(reply)
    return found, conflicts


def _key_of(reply: RecordedReply, identity: str) -> str:
    text = canonical_text(reply.request)
    return request_key(text, identity=identity, seed=reply.seed, occurrence=reply.occurrence)


def _answer_of(reply: RecordedReply) -> Any:
    """The words and calls of a body, without ids, times and tokens; the body where it is no answer."""
    spoken, body = dialect(reply.dialect or CHAT), reply.body.encode("utf-8", "surrogatepass")
    if reply.stream:
        reader = spoken.open_stream(spoken.read_request(dict(reply.request)).names)
        reader.feed(body)
        reading = reader.end()
    else:
        reading = spoken.read_body(body)
    if reading.problem is not None:
        return reply.body
    return reading.answer.texts, [(call.name, call.arguments) for call in reading.answer.calls], reading.finish_reason


def write_cassette(cassette: Cassette, path: Path) -> None:
    """Write a cassette.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        with replacing(path) as file, lzma.open(file, "wb", preset=6) as packed:
            for line in cassette.lines():
                packed.write(line)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}; name another file with --output") from error


def read_cassette(path: Path) -> Cassette:
    """Read a cassette.

    Raises:
        DataError: it is none, or of another version; names the file and the line.
    """
    try:
        with lzma.open(path, "rb") as file:
            return _read(path, _bound(path, file))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (lzma.LZMAError, EOFError) as error:
        raise DataError(f"{path} is no cassette, or is cut: {error}; `bench record RUN -o FILE` writes one") from error


def _bound(path: Path, file: Any) -> Iterator[tuple[int, Any]]:
    left = MOST
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        left -= len(line)
        if left < 0:
            raise DataError(f"{path}: has more than {MOST} bytes; it is not read")
        try:
            yield number, parse_json(line)
        except ValueError as error:
            raise DataError(f"{path}, line {number}: is not JSON: {error}") from error


def _read(path: Path, lines: Iterator[tuple[int, Any]]) -> Cassette:
    _, header = next(lines, (0, None))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise DataError(f"{path} is no cassette; `bench record RUN -o FILE` writes one")
    if header.get("version") != VERSION:
        raise DataError(f"{path} is of version {header.get('version')!r}, and this Trialbed reads {VERSION}")
    try:
        model, identity, told = (_text_of(header[name]) for name in ("model", "identity", "told"))
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}, line 1: is not as a cassette has it: {error!r}") from error
    found = Replies()
    for number, line in lines:
        try:
            if "part" in line:
                found.add_part(_text_of(line["digest"]), line["part"])
            else:
                reply = _reply(line, found)
                found.add(_key_of(reply, identity), reply, line["request"])
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise DataError(f"{path}, line {number}: is not as a cassette has it: {error!r}") from error
    if len(found) != header.get("replies"):
        raise DataError(f"{path} has {len(found)} answers, and says {header.get('replies')}: it was changed or cut")
    return Cassette(model, identity, told, found)


def _text_of(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not a text")
    return value


def _reply(line: Mapping[str, Any], known: Replies) -> RecordedReply:
    return RecordedReply(
        seed=int(line["seed"]),
        occurrence=int(line["occurrence"]),
        request=whole_request(line["request"], known.part),
        body=str(line["body"]),
        stream=bool(line["stream"]),
        duration=float(line["duration"]),
        dialect=str(line["dialect"]),
    )


def _line(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
