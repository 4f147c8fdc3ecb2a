"""The replies of a recording, in a database of their own: memory has those that are asked for."""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

from trialbed.errors import DataError
from trialbed_plugins.recordings._key import canonical_text, text_digest

SHARED = ("messages", "input", "tools")
"""Fields of a request whose parts are kept once for all requests."""

CACHE = 8 * 2**20
"""Bytes of the database from which on it is in a temporary file, which has no name and ends with its process."""

READY_PARTS = 256
"""Parts of requests that stay read, for the requests that share them; of more, their numbers do."""

READY_NUMBERS = 4_096

TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE parts (number INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, part BLOB NOT NULL);
CREATE TABLE replies (
    number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, seed TEXT NOT NULL, occurrence INTEGER NOT NULL,
    request BLOB NOT NULL, body BLOB NOT NULL, stream INTEGER NOT NULL, duration REAL NOT NULL, dialect TEXT NOT NULL
);
CREATE INDEX of_seed ON replies (seed);
"""

ADD = "INSERT OR IGNORE INTO replies VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)"
ADD_PART = "INSERT OR IGNORE INTO parts VALUES (NULL, ?, ?)"
ANSWER = "SELECT body, stream, duration, dialect FROM replies WHERE key = ?"
REPLY = "SELECT seed, occurrence, request, body, stream, duration, dialect FROM replies WHERE key = ?"
OF_SEED = """
SELECT seed, occurrence, request, body, stream, duration, dialect FROM replies WHERE seed = ? ORDER BY number
"""
NEXT = """
SELECT key, seed, occurrence, request, body, stream, duration, dialect FROM replies WHERE key > ? ORDER BY key LIMIT 100
"""


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """The answer to a request.

    Attributes:
        body: of the response, as it was sent; ``stream``: whether it is a stream of events.
        duration: seconds that the answer took.
        dialect: of both; empty for chat completions.
    """

    body: str
    stream: bool
    duration: float
    dialect: str = ""


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """A recorded answer with its request.

    Attributes:
        seed: of the trial; ``occurrence``: how often that trial had asked the same before.
        request: in canonical form.
        body, stream, duration, dialect: as ``RecordedAnswer`` has them.
    """

    seed: int
    occurrence: int
    request: Mapping[str, Any]
    body: str
    stream: bool
    duration: float
    dialect: str = ""


class Replies(Mapping[str, RecordedReply]):
    """Replies by their keys, in the order in which they were added; threads may share them.

    Raises:
        DataError: there is no room for them.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._database.close)
        with _explain_errors():
            self._database.executescript(f"PRAGMA cache_size = -{CACHE // 1024};{TABLES}")
        self._part = lru_cache(maxsize=READY_PARTS)(self._read_part)
        self._number = lru_cache(maxsize=READY_NUMBERS)(self._read_number)
        self._count = 0

    def add(self, key: str, reply: RecordedReply, frame: Mapping[str, Any] | None = None) -> bool:
        """Add a reply, and return whether it is the first of its key; others are left out.

        Args:
            frame: its request with digests in place of parts, all of which have been added; None where it has none.
        """
        request = self._frame(reply.request) if frame is None else frame
        sent = _pack(request), reply.body.encode("utf-8", "surrogatepass"), reply.stream
        row = (bytes.fromhex(key), str(reply.seed), reply.occurrence, *sent, reply.duration, reply.dialect)
        with self._lock, _explain_errors():
            added = self._database.execute(ADD, row).rowcount
        self._count += added
        return bool(added)

    def add_part(self, digest: str, part: Any) -> None:
        """Add a part of requests, under the digest that stands in their frames."""
        with self._lock, _explain_errors():
            self._database.execute(ADD_PART, (digest, _pack(part)))

    def part(self, digest: str) -> Any:
        """Return a part of requests.

        Raises:
            KeyError: it was not added.
        """
        return self._part(digest)

    def answer(self, key: str) -> RecordedAnswer | None:
        """Return the answer of a reply, without its request; None where there is none."""
        for body, stream, *rest in self._select(ANSWER, bytes.fromhex(key)):
            return RecordedAnswer(_text(body), bool(stream), *rest)
        return None

    def has_seed(self, seed: int) -> bool:
        """Return whether any reply is to a trial with a seed."""
        return bool(self._select("SELECT 1 FROM replies WHERE seed = ? LIMIT 1", str(seed)))

    def of_seed(self, seed: int) -> list[RecordedReply]:
        """Return the replies to the trials with a seed, in the order in which they were added."""
        return [self._reply(row) for row in self._select(OF_SEED, str(seed))]

    def by_key(self) -> Iterator[tuple[RecordedReply, list[tuple[str, Any]]]]:
        """Yield the replies in the order of their keys, each with digests in place of the parts of its request.

        Beside it are those of the parts that no reply before it has, with their digests.
        """
        ((parts,),) = self._select("SELECT count(*) FROM parts")
        known, last = bytearray(1 + parts), b""
        while rows := self._select(NEXT, last):
            for _, *row in rows:
                frame = json.loads(row[2])
                yield self._reply(row, frame), list(self._new_parts(frame, known))
            last = rows[-1][0]

    def _new_parts(self, frame: Mapping[str, Any], known: bytearray) -> Iterator[tuple[str, Any]]:
        for digest in _digests(frame):
            number = self._number(digest)
            if not known[number]:
                known[number] = True
                yield digest, self._read_part(digest)

    def __getitem__(self, key: str) -> RecordedReply:
        for row in self._select(REPLY, bytes.fromhex(key)):
            return self._reply(row)
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        for number in range(1, self._count + 1):
            ((key,),) = self._select("SELECT key FROM replies WHERE number = ?", number)
            yield key.hex()

    def __len__(self) -> int:
        return self._count

    def _frame(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Keep the parts of a request, and return it with their digests in place of them."""
        found = {**request}
        for name in SHARED:
            if isinstance(found.get(name), list):
                parts = found[name]
                found[name] = [text_digest(canonical_text(part)) for part in parts]
                for digest, part in zip(found[name], parts, strict=True):
                    self.add_part(digest, part)
        return found

    def _reply(self, row: Sequence[Any], request: Mapping[str, Any] | None = None) -> RecordedReply:
        seed, occurrence, frame, body, stream, duration, dialect = row
        whole = whole_request(json.loads(frame), self.part) if request is None else request
        return RecordedReply(int(seed), occurrence, whole, _text(body), bool(stream), duration, dialect)

    def _read_part(self, digest: str) -> Any:
        for (part,) in self._select("SELECT part FROM parts WHERE digest = ?", digest):
            return json.loads(part)
        raise KeyError(digest)

    def _read_number(self, digest: str) -> int:
        ((number,),) = self._select("SELECT number FROM parts WHERE digest = ?", digest)
        return int(number)

    def _select(self, statement: str, *values: object) -> list[Any]:
        with self._lock, _explain_errors():
            return self._database.execute(statement, values).fetchall()


def whole_request(frame: Mapping[str, Any], part_of: Callable[[str], Any]) -> dict[str, Any]:
    """Return a request with its parts in place of their digests.

    Args:
        part_of: gives the part of a digest.
    """
    request = {**frame}
    for name in SHARED:
        if isinstance(request.get(name), list):
            request[name] = [part_of(digest) for digest in request[name]]
    return request


def _digests(frame: Mapping[str, Any]) -> Iterator[str]:
    for name in SHARED:
        if isinstance(frame.get(name), list):
            yield from frame[name]


def _pack(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()


def _text(body: bytes) -> str:
    return body.decode("utf-8", "surrogatepass")


@contextmanager
def _explain_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise DataError(
            f"the answers of a recording cannot be kept in a temporary file: {error}; the environment variable "
            "SQLITE_TMPDIR names another folder for it"
        ) from error
