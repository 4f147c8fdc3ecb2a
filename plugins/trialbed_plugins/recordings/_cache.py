"""The model cache, a file with answers of models that equal requests share during a run."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple, Self

from zlib_ng import zlib_ng

from trialbed.contracts import ModelQuestion, ModelReply, ServedAnswer, TrialModel
from trialbed.errors import UsageError
from trialbed.files import make_private_file
from trialbed.records import TrialRegistration, WireLog
from trialbed.settings import secret_values
from trialbed.wire.redaction import redaction_of
from trialbed_plugins.recordings._requests import canonical, canonical_text, request_key
from trialbed_plugins.recordings.driver import reply_of

logger = logging.getLogger(__name__)

PATIENCE = 1.0
"""Seconds to wait for another process that writes."""

MARK = 0x7452434D
"""SQLite's ``application_id`` for these files."""

MOST = 256 * 2**20
"""Largest body to read back, in bytes."""

TABLE = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, body BLOB NOT NULL, stream INTEGER NOT NULL, duration REAL NOT NULL, dialect TEXT NOT NULL
) WITHOUT ROWID
"""


class KeptAnswer(NamedTuple):
    """An answer in the cache with its dialect."""

    answer: ServedAnswer
    dialect: str


class ModelCache:
    """Answers by the keys of their requests, and the requests that are pending.

    Several processes may share a file. Within this process, equal requests wait for the pending one. If other processes
    write for long, an answer is not stored. If the file fails after it was opened, this is logged once and the model is
    asked as without a cache.

    Raises:
        UsageError: the file cannot be opened, or belongs to another program.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._asked: dict[str, asyncio.Event] = {}
        self._redaction = redaction_of(secret_values())
        self._broken = False
        try:
            self._connection = _open(Path(path))
        except (sqlite3.Error, OSError) as error:
            raise UsageError(f"--model-cache {path}: cannot be used: {error}; name another file") from error

    def find(self, key: str) -> KeptAnswer | None:
        """Return the answer to a request, if it is stored."""
        if self._broken:
            return None
        try:
            row = self._connection.execute(
                "SELECT body, stream, duration, dialect FROM replies WHERE key = ?", (key,)
            ).fetchone()
            if row is None:
                return None
            body, stream, duration, dialect = row
            reader = zlib.decompressobj()
            answer = ServedAnswer(reader.decompress(body, MOST), bool(stream), duration)
            return KeptAnswer(answer, dialect) if reader.eof else None
        except (sqlite3.Error, zlib.error) as error:
            self._fails(error)
            return None

    async def find_or_begin(
        self, key: str, held: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> KeptAnswer | None:
        """Return the answer to a request, even a pending one. On None, the caller has to get it and call ``end``.

        If the pending request fails, the next one that waits for it takes over.

        Args:
            held: a context for the time it waits.
        """
        while (asked := self._asked.get(key)) is not None:
            with held():
                await asked.wait()
        found = self.find(key)
        if found is None:
            self._asked[key] = asyncio.Event()
        return found

    def end(self, key: str, kept: KeptAnswer | None = None) -> None:
        """Finish a pending request, with or without an answer."""
        if kept is not None:
            self.keep(key, kept)
        self._asked.pop(key).set()

    def keep(self, key: str, kept: KeptAnswer) -> None:
        """Store an answer with the secrets of this process masked. The first answer for a key stays."""
        if self._broken:
            return
        body = kept.answer.body
        if self._redaction:
            text = self._redaction.body(body.decode("utf-8", "surrogateescape"))
            body = text.encode("utf-8", "surrogateescape")
        row = key, zlib_ng.compress(body), kept.answer.stream, kept.answer.duration, kept.dialect
        try:
            with self._connection:
                self._connection.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?)", row)
        except sqlite3.Error as error:
            self._fails(error)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def _fails(self, error: Exception) -> None:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            logger.info("%s: an answer is not cached, because others use the cache: %s", self._path, error)
            return
        self._broken = True
        logger.warning("%s: the model cache is no longer used: %s", self._path, error)


def _open(path: Path) -> sqlite3.Connection:
    make_private_file(path)
    connection = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False)
    try:
        is_new = not connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        if not is_new and connection.execute("PRAGMA application_id").fetchone() != (MARK,):
            raise sqlite3.DatabaseError("it is not a model cache")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(f"PRAGMA application_id={MARK}")
        connection.execute(TABLE)
    except BaseException:
        connection.close()
        raise
    return connection


class _Asked(NamedTuple):
    """A request that is being answered.

    Attributes:
        text: its canonical form. The trial has sent it ``occurrence`` times before.
        begun: whether the model answers it now, for this trial and others that wait.
    """

    key: str
    text: str
    occurrence: int
    begun: bool


class CachedModel(TrialModel):
    """Answers a trial's earlier requests from the cache, and stores the model's answers to others.

    A failed request does not count. The next equal one takes its place.

    Args:
        inner: the model if it answers in the gateway; None if an endpoint answers.
    """

    def __init__(self, cache: ModelCache, registration: TrialRegistration, inner: TrialModel | None) -> None:
        self.asks = registration.model if inner is None else inner.asks
        self._cache = cache
        self._inner = inner
        self._identity, self._seed = registration.cached_as, registration.seed
        self._names = frozenset({registration.model_name or "", registration.model, self.asks})
        self._taken: dict[str, set[int]] = defaultdict(set)
        self._asking: dict[int, _Asked] = {}

    async def answer(self, question: ModelQuestion) -> ModelReply | None:
        """Answer from the cache, or else ask the model, once for all equal pending requests."""
        text = canonical_text(canonical(question.request.whole, self._names))
        taken = self._taken[text]
        occurrence = next(number for number in range(len(taken) + 1) if number not in taken)
        taken.add(occurrence)
        key = request_key(text, identity=self._identity, seed=self._seed, occurrence=occurrence)
        try:
            found = await self._cache.find_or_begin(key, question.held)
        except BaseException:  # the framework has left
            taken.discard(occurrence)
            raise
        self._asking[question.place] = _Asked(key, text, occurrence, begun=found is None)
        if found is not None and found.dialect == question.dialect.NAME:
            return reply_of(found.answer, question)
        return None if self._inner is None else await self._inner.answer(question)

    def note_answer(self, question: ModelQuestion, answer: ServedAnswer | None) -> None:
        """Store a new answer. A request without a complete answer may be sent again."""
        if self._inner is not None:
            self._inner.note_answer(question, answer)
        asked = self._asking.pop(question.place, None)
        if asked is None:
            return
        if answer is None:
            self._taken[asked.text].discard(asked.occurrence)
        if asked.begun:
            self._cache.end(asked.key, None if answer is None else KeptAnswer(answer, question.dialect.NAME))

    def complete(self, log: WireLog) -> WireLog:
        """Return the log with the additions of the inner model."""
        return log if self._inner is None else self._inner.complete(log)
