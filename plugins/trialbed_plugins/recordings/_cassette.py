"""Cassettes with the recorded answers of a model in one file.

The file contains JSON lines, compressed with xz. The first line names the format, the version and the model. Each
message or tool is stored once, under its digest. The other lines are answers, in the order of their keys. The content
is independent of the time and place of writing, so equal recordings are equal files.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from trialbed.errors import DataError, UsageError
from trialbed.files import replacing
from trialbed.texts import one_line
from trialbed.wire import parse_json
from trialbed.wire.dialects import CHAT, dialect
from trialbed_plugins.recordings._requests import MASK, VERSION, canonical_text, request_key, text_digest

FORMAT = "trialbed cassette"
MOST = 4 * 2**30
"""Largest uncompressed cassette, in bytes. A compressed file can expand to any size."""

LONGEST_LINE = 64 * 2**20
"""Longest line, in bytes."""

LONGEST_REASON = 300
"""Longest explanation of a faulty line, in characters."""


SHARED = ("messages", "input", "tools")
"""Fields of a request with parts that are stored once for all requests."""


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """A recorded answer with its request.

    Attributes:
        seed: the trial's seed.
        occurrence: the number of equal requests in the trial before.
        request: the request in canonical form.
        stream: whether the body is a stream.
        duration: seconds that the model took.
        dialect: the dialect of request and body; empty for chat completions.
    """

    seed: int
    occurrence: int
    request: Mapping[str, Any]
    body: str
    stream: bool
    duration: float
    dialect: str = ""


REPLY = TypeAdapter(RecordedReply)


class Cassette:
    """The recorded answers of one model.

    Attributes:
        model: its name.
        identity: the identity from its driver, or else the name.
        told: the model's name for frameworks.
        ignored: the parts of requests that do not matter.
        replies: the first answer for each key.
        conflicts: the number of skipped answers that differ from the first one with their key.
    """

    def __init__(
        self,
        model: str,
        identity: str,
        told: str,
        replies: Iterable[RecordedReply] = (),
        *,
        ignored: Sequence[str] = (),
    ) -> None:
        self.model, self.identity, self.told, self.ignored = model, identity, told, tuple(ignored)
        self.replies: dict[str, RecordedReply] = {}
        self.conflicts = 0
        self._of_seed: dict[int, list[RecordedReply]] = defaultdict(list)
        # The requests, with digests instead of shared parts, and the shared parts, once each.
        self._frames: dict[str, dict[str, Any]] = {}
        self._parts: dict[str, Any] = {}
        for reply in replies:
            self._add(reply)

    def find(self, text: str, *, seed: int, occurrence: int) -> RecordedReply | None:
        """Return the answer to a canonical request, if it was recorded."""
        return self.replies.get(request_key(text, identity=self.identity, seed=seed, occurrence=occurrence))

    def has_seed(self, seed: int) -> bool:
        return seed in self._of_seed

    def of_seed(self, seed: int) -> list[RecordedReply]:
        """Return the answers of the trials with a seed. They belong to one query and repeat."""
        return self._of_seed.get(seed, [])

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of its content. Equal recordings have equal digests."""
        found = hashlib.sha256()
        for line in self.lines():
            found.update(line)
        return found.hexdigest()

    def lines(self) -> Iterator[bytes]:
        named = {"model": self.model, "identity": self.identity, "told": self.told, "replies": len(self.replies)}
        masks = {"ignored": self.ignored} if self.ignored else {}
        yield _line({"format": FORMAT, "version": VERSION, **named, **masks})
        written: set[str] = set()
        for key, reply in sorted(self.replies.items()):
            frame = self._frames[key]
            for digest in (digest for name in SHARED if isinstance(frame.get(name), list) for digest in frame[name]):
                if digest not in written:
                    written.add(digest)
                    yield _line({"digest": digest, "part": self._parts[digest]})
            yield _line({name: getattr(reply, name) for name in reply.__slots__} | {"request": frame})

    def read_line(self, line: Mapping[str, Any]) -> None:
        """Add the content of a line in a file, either a part of requests or an answer."""
        if "part" in line:
            self._parts[_text_of(line["digest"])] = line["part"]
            return
        reply = REPLY.validate_python({**line, "request": self._whole(line["request"])})
        self._keep(self._key(reply), reply, line["request"])

    def _add(self, reply: RecordedReply) -> None:
        key = self._key(reply)
        if (first := self.replies.get(key)) is not None:
            self.conflicts += first.body != reply.body and answer_of(first) != answer_of(reply)
            return
        frame = {**reply.request}
        for name in SHARED:
            if isinstance(frame.get(name), list):
                frame[name] = [text_digest(canonical_text(part)) for part in frame[name]]
                for digest, part in zip(frame[name], reply.request[name], strict=True):
                    self._parts.setdefault(digest, part)
        self._keep(key, replace(reply, request=self._whole(frame)), frame)

    def _keep(self, key: str, reply: RecordedReply, frame: dict[str, Any]) -> None:
        self.replies[key], self._frames[key] = reply, frame
        self._of_seed[reply.seed].append(reply)

    def _key(self, reply: RecordedReply) -> str:
        text = canonical_text(reply.request)
        return request_key(text, identity=self.identity, seed=reply.seed, occurrence=reply.occurrence)

    def _whole(self, frame: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request with its parts instead of their digests.

        Raises:
            KeyError: a part is missing.
        """
        shared = (name for name in SHARED if isinstance(frame.get(name), list))
        return {**frame} | {name: [self._parts[digest] for digest in frame[name]] for name in shared}


def answer_of(reply: RecordedReply) -> Any:
    """Return the texts and calls in a body, without ids, times and tokens. A body without an answer stays a text."""
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
        DataError: it is not a cassette, or has another version; the message names the file and the line.
    """
    try:
        with lzma.open(path, "rb") as file:
            return _read(path, _bound(path, file))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (lzma.LZMAError, EOFError) as error:
        raise DataError(f"{path} is not a cassette, or cut: {error}; `bench record RUN -o FILE` writes one") from error


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
        raise DataError(f"{path} is not a cassette; `bench record RUN -o FILE` writes one")
    if header.get("version") != VERSION:
        raise DataError(f"{path} is of version {header.get('version')!r}, and this Trialbed reads {VERSION}")
    number = 1
    try:
        model, identity, told = (_text_of(header[name]) for name in ("model", "identity", "told"))
        ignored = [_text_of(one) for one in header.get("ignored", ())]
        if unknown := [one for one in ignored if not MASK.fullmatch(one)]:
            raise ValueError(f"ignored: {unknown[0]!r:.60}")
        found = Cassette(model, identity, told, ignored=ignored)
        for number, line in lines:  # noqa: B007 - the error names it
            found.read_line(line)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = f"{type(error).__name__}: {one_line(str(error), LONGEST_REASON)}"
        raise DataError(f"{path}, line {number}: is not valid in a cassette: {reason}") from error
    if len(found.replies) != header.get("replies"):
        count = len(found.replies)
        raise DataError(f"{path} has {count} answers, and says {header.get('replies')}: it was changed or cut")
    return found


def _text_of(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not a text")
    return value


def _line(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
