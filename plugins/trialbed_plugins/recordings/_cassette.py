"""A cassette: the recorded answers of a model, in one file.

The file is JSON by lines, compressed with xz. Its first line names the format, the version and the model. A message or
a tool stands in it once, under its digest; the rest are answers, in the order of their keys. Nothing in it depends on
when or where it was written, so that equal recordings are equal files.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from trialbed.errors import DataError, UsageError
from trialbed.files import replace_file
from trialbed.wire import parse_json
from trialbed.wire.dialects import CHAT, dialect
from trialbed_plugins.recordings._key import VERSION, canonical_text, request_key

FORMAT = "trialbed cassette"
MOST = 4 * 2**30
"""Bytes of a cassette when it is not compressed; a file can claim to be any number."""

LONGEST_LINE = 64 * 2**20
"""Bytes of one line."""

SHARED = ("messages", "input", "tools")
"""Fields of a request whose parts are kept once for all requests."""


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """A recorded answer.

    Attributes:
        seed: of the trial; ``occurrence``: how often that trial had asked the same before.
        request: in canonical form.
        body: of the response, as it was sent; ``stream``: whether it is a stream of events.
        duration: seconds that the answer took.
        dialect: of both; empty for chat completions.
    """

    seed: int
    occurrence: int
    request: Mapping[str, Any]
    body: str
    stream: bool
    duration: float
    dialect: str = ""


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
    replies: Mapping[str, RecordedReply] = field(repr=False)

    def find(self, text: str, *, seed: int, occurrence: int) -> RecordedReply | None:
        """The answer to a canonical request; None where it was not recorded."""
        return self.replies.get(request_key(text, identity=self.identity, seed=seed, occurrence=occurrence))

    def of_seed(self, seed: int) -> Sequence[RecordedReply]:
        """The answers of the trials with a seed, which are those of one query and repeat."""
        return self._by_seed.get(seed, ())

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of its content, by which equal recordings are recognised."""
        return hashlib.sha256(b"".join(self.lines())).hexdigest()

    @cached_property
    def _by_seed(self) -> Mapping[int, list[RecordedReply]]:
        found: dict[int, list[RecordedReply]] = defaultdict(list)
        for reply in self.replies.values():
            found[reply.seed].append(reply)
        return found

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of its file."""
        named = {"model": self.model, "identity": self.identity, "told": self.told, "replies": len(self.replies)}
        yield _line({"format": FORMAT, "version": VERSION, **named})
        known: set[str] = set()
        for _, reply in sorted(self.replies.items()):
            request = {**reply.request}
            for name in SHARED:
                if isinstance(request.get(name), list):
                    parts = request[name]
                    request[name] = [_digest(part) for part in parts]
                    for digest, part in zip(request[name], parts, strict=True):
                        if digest not in known:
                            known.add(digest)
                            yield _line({"digest": digest, "part": part})
            yield _line(
                {
                    "seed": reply.seed,
                    "occurrence": reply.occurrence,
                    "request": request,
                    "body": reply.body,
                    "stream": reply.stream,
                    "duration": reply.duration,
                    "dialect": reply.dialect,
                }
            )


def keyed(identity: str, replies: Iterable[RecordedReply]) -> tuple[dict[str, RecordedReply], int]:
    """Return replies under their keys, and how many were left out: an earlier one has their key and says otherwise."""
    found: dict[str, RecordedReply] = {}
    conflicts = 0
    for reply in replies:
        key = request_key(
            canonical_text(reply.request), identity=identity, seed=reply.seed, occurrence=reply.occurrence
        )
        kept = found.setdefault(key, reply)
        conflicts += kept.body != reply.body and _answer_of(kept) != _answer_of(reply)
    return found, conflicts


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
        replace_file(path, lzma.compress(b"".join(cassette.lines()), preset=6))
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
    parts: dict[str, Any] = {}
    replies = []
    for number, line in lines:
        try:
            if "part" in line:
                parts[line["digest"]] = line["part"]
            else:
                replies.append(_reply(line, parts))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path}, line {number}: is not as a cassette has it: {error!r}") from error
    found, _ = keyed(str(header["identity"]), replies)
    if len(found) != header.get("replies"):
        raise DataError(f"{path} has {len(found)} answers, and says {header.get('replies')}: it was changed or cut")
    return Cassette(str(header["model"]), str(header["identity"]), str(header["told"]), found)


def _reply(line: Mapping[str, Any], parts: Mapping[str, Any]) -> RecordedReply:
    request = {**line["request"]}
    for name in SHARED:
        if isinstance(request.get(name), list):
            # Files in which Responses' items stand whole are read, too.
            request[name] = [parts[part] if isinstance(part, str) else part for part in request[name]]
    return RecordedReply(
        seed=int(line["seed"]),
        occurrence=int(line["occurrence"]),
        request=request,
        body=str(line["body"]),
        stream=bool(line["stream"]),
        duration=float(line["duration"]),
        dialect=str(line["dialect"]),
    )


def _line(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _digest(part: Any) -> str:
    return hashlib.sha256(canonical_text(part).encode("utf-8", "surrogatepass")).hexdigest()[:32]
