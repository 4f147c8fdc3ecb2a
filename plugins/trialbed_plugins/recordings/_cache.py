"""The model cache: the answers of models in a file, which equal requests share while a run goes on."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Self

from trialbed.contracts import ServedAnswer
from trialbed.errors import UsageError
from trialbed.files import make_private_file
from trialbed.settings import secret_values
from trialbed.wire.redaction import redaction_of

logger = logging.getLogger(__name__)

PATIENCE = 10.0
"""Seconds to wait for another process that writes, to open the file or to read it."""

WRITING_PATIENCE = 1.0
"""Seconds to wait for it to write one answer."""

MARK = 0x7452434D
"""SQLite's ``application_id`` of such a file, and ``VERSION`` of its tables."""

VERSION = 1
MOST = 256 * 2**20
"""Bytes of a body, or of a request, that is read back."""

TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, request BLOB NOT NULL, body BLOB NOT NULL,
    stream INTEGER NOT NULL, duration REAL NOT NULL, dialect TEXT NOT NULL
) WITHOUT ROWID
"""


class KeptAnswer(NamedTuple):
    """An answer in the cache.

    Attributes:
        request: canonical; ``dialect``: of both.
    """

    request: str
    answer: ServedAnswer
    dialect: str


class ModelCache:
    """Answers by the keys of their requests, and the requests that are being answered now.

    Many processes may use one file; those of this process wait for the answer to an equal request that is under way.
    While others write for long, an answer is not kept. A file that fails later than when it is opened is reported once
    in the log, and the model is asked as without it.

    Raises:
        UsageError: the file cannot be opened, or is another program's.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._asked: dict[str, asyncio.Event] = {}
        self._unwritten: dict[str, KeptAnswer] = {}
        self._redaction = redaction_of(secret_values())
        self._broken = False
        self._thread = ThreadPoolExecutor(1, "model-cache")
        try:
            self._connection = _open(Path(path))
            # A connection that waits for its turn to write lets nobody read.
            self._writing = sqlite3.connect(path, timeout=WRITING_PATIENCE, check_same_thread=False)
            self._writing.execute("PRAGMA synchronous=NORMAL")
        except (sqlite3.Error, OSError) as error:
            raise UsageError(f"--model-cache {path}: cannot be used: {error}; name another file") from error

    def find(self, key: str) -> KeptAnswer | None:
        """The answer to a request; None if there is none."""
        if (unwritten := self._unwritten.get(key)) is not None:
            return unwritten
        if self._broken:
            return None
        try:
            row = self._connection.execute(
                "SELECT request, body, stream, duration, dialect FROM answers WHERE key = ?", (key,)
            ).fetchone()
            return None if row is None else _kept_answer(row)
        except (sqlite3.Error, zlib.error) as error:
            self._fails(error)
            return None

    async def find_or_begin(
        self, key: str, held: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> KeptAnswer | None:
        """The answer to a request, also one that is under way; None if the caller is to get it, and then calls ``end``.

        Where the other request fails, the first that waits for it is the next to ask.

        Args:
            held: entered while it waits.
        """
        while (asked := self._asked.get(key)) is not None:
            with held():
                await asked.wait()
        found = self.find(key)
        if found is None:
            self._asked[key] = asyncio.Event()
        return found

    def end(self, key: str) -> None:
        """A request that began has an answer, or will get none."""
        self._asked.pop(key).set()

    def keep_and_end(self, key: str, kept: KeptAnswer) -> None:
        """Keep the answer to a request that began, and end it.

        It is written in a thread: others may be writing.
        """
        self._unwritten[key] = masked = self._mask(kept)
        self.end(key)
        written = asyncio.get_running_loop().run_in_executor(self._thread, self._write, key, masked)
        written.add_done_callback(lambda _: self._unwritten.pop(key))

    def keep(self, key: str, kept: KeptAnswer) -> None:
        """Keep an answer, with the secrets of this process masked; the first of a key stays."""
        self._write(key, self._mask(kept))

    def _write(self, key: str, kept: KeptAnswer) -> None:
        if self._broken:
            return
        answer = kept.answer
        row = (
            key,
            zlib.compress(kept.request.encode("utf-8", "surrogatepass")),
            zlib.compress(answer.body),
            answer.stream,
            answer.duration,
            kept.dialect,
        )
        try:
            with self._writing:
                self._writing.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?)", row)
        except sqlite3.Error as error:
            self._fails(error)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Close the file, with all answers in it."""
        self._thread.shutdown()
        self._writing.close()
        self._connection.close()

    def _mask(self, kept: KeptAnswer) -> KeptAnswer:
        if not self._redaction:
            return kept
        body = self._redaction.body(kept.answer.body.decode("utf-8", "surrogateescape"))
        answer = replace(kept.answer, body=body.encode("utf-8", "surrogateescape"))
        return KeptAnswer(self._redaction.text(kept.request), answer, kept.dialect)

    def _fails(self, error: Exception) -> None:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            logger.info("%s: an answer is not kept, since others use the model cache: %s", self._path, error)
            return
        self._broken = True
        logger.warning("%s: the model cache is not used any more: %s", self._path, error)


@contextmanager
def cache_there(path: Path) -> Iterator[ModelCache | None]:
    """Open a cache to read it; None where there is no such file."""
    if not path.is_file():
        yield None
        return
    cache = ModelCache(path)
    try:
        yield cache
    finally:
        cache.close()


def _open(path: Path) -> sqlite3.Connection:
    make_private_file(path)
    connection = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False)
    try:
        mark, version = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        is_new = not connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        if not is_new and (mark, version) != (MARK, VERSION):
            raise sqlite3.DatabaseError("it is no model cache, or one of another version")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(f"PRAGMA application_id={MARK}")
        connection.execute(f"PRAGMA user_version={VERSION}")
        connection.execute(TABLE)
    except BaseException:
        connection.close()
        raise
    return connection


def _kept_answer(row: tuple[bytes, bytes, int, float, str]) -> KeptAnswer:
    request, body, stream, duration, dialect = row
    text = _unpack(request).decode("utf-8", "surrogatepass")
    return KeptAnswer(text, ServedAnswer(_unpack(body), bool(stream), duration), dialect)


def _unpack(data: bytes) -> bytes:
    reader = zlib.decompressobj()
    found = reader.decompress(data, MOST)
    if not reader.eof:
        raise zlib.error("a body is cut, or too long")
    return found
