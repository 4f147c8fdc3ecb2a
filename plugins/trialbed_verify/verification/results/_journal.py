"""The results file: one JSON line per completed case, durable and never torn."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from filelock import FileLock, Timeout

from trialbed.errors import DataError, TrialbedError, UsageError
from trialbed.files import replacing
from trialbed.wire import dump_json, parse_json_fast
from trialbed_verify.verification.cases import TestSet
from trialbed_verify.verification.results._redaction import Redaction
from trialbed_verify.verification.targets import Target

Row = dict[str, Any]

Key = tuple[int, int]
"""Line of the test set and number of the trial."""

TORN = ".torn"
"""Suffix of the file that keeps a last line that a crash cut off."""


class Journal:
    """Appends rows to a results file, and sorts it at the end.

    ``append`` hands a whole row to the operating system before it returns, so that a crash of this process loses none;
    ``sync`` writes them to disk. Rows are in the order of arrival until ``compact`` replaces the file.

    Args:
        secrets: texts to redact wherever a row holds them: an endpoint may send the key back.
    """

    def __init__(self, path: Path, secrets: Iterable[str] = ()) -> None:
        self.path = path
        self._redaction = Redaction(secrets)
        # It is acquired in one thread and released in another.
        self._lock = FileLock(path.with_name(f".{path.name}.lock"), thread_local=False)
        self._file = -1
        self._unsynced = False
        self._stale = False
        self._offsets: dict[Key, int] = {}

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._open)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.sync()
        finally:
            os.close(self._file)
            self._lock.release()

    @property
    def count(self) -> int:
        """The number of keys that have a row."""
        return len(self._offsets)

    def has(self, key: Key) -> bool:
        """Whether this key has a row."""
        return key in self._offsets

    def rows(self) -> Iterator[tuple[Key, Row]]:
        """Every row in the file, in order, with its key.

        Raises:
            DataError: a line is not a result row.
        """
        for number, offset, line in _lines(self.path):
            row = _row(self.path, number, line)
            key = (int(row["data_index"]), int(row.get("trial") or 0))
            self._offsets[key] = offset
            yield key, row

    def latest_rows(self) -> Iterator[tuple[Key, Row]]:
        """The latest row of each key that ``rows`` or ``append`` has seen, sorted by key."""
        with self.path.open("rb") as file:
            for key in sorted(self._offsets):
                file.seek(self._offsets[key])
                yield key, parse_json_fast(file.readline())

    def discard(self) -> None:
        """Discard all rows; they stay in the file until the first new one replaces them."""
        self._stale = True
        self._offsets.clear()

    def append(self, key: Key, row: Row) -> Row:
        """Append a row. It replaces an earlier one of the same key when the file is compacted.

        Returns:
            The row as written, without secrets.

        Raises:
            TrialbedError: the row cannot be written; the file is as it was before.
        """
        line = dump_json(row)
        redacted = self._redaction.line(line)
        if self._stale:
            os.ftruncate(self._file, 0)
            self._stale = False
        end = os.lseek(self._file, 0, os.SEEK_END)
        try:
            _write(self._file, redacted + b"\n")
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, end)
            raise _cannot_write(self.path, error) from error
        self._offsets[key] = end
        self._unsynced = True
        return row if redacted is line else dict(parse_json_fast(redacted))

    async def sync(self) -> None:
        """Write what was appended to disk.

        Raises:
            TrialbedError: the disk does not take it.
        """
        if self._unsynced:
            self._unsynced = False
            try:
                await asyncio.to_thread(os.fsync, self._file)
            except OSError as error:
                raise _cannot_write(self.path, error) from error

    async def compact(self) -> None:
        """Replace the file, atomically, by one that has the latest row of each key, sorted by key.

        Raises:
            TrialbedError: the new file cannot be written; the old one is unchanged: complete, but not sorted.
        """
        try:
            await asyncio.to_thread(self._compact)
        except OSError as error:
            raise _cannot_write(self.path, error) from error

    def _open(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise UsageError(
                f"{self.path}: another process is writing to this file; name another one with --output"
            ) from error
        except OSError as error:
            raise _cannot_open(self.path, error) from error
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            _repair_tail(self.path, self._file)
        except OSError as error:
            self._lock.release()
            raise _cannot_open(self.path, error) from error

    def _compact(self) -> None:
        with replacing(self.path) as target, self.path.open("rb") as source:
            for key in sorted(self._offsets):
                source.seek(self._offsets[key])
                target.write(source.readline())


def existing_answers(journal: Journal, target: Target, cases: TestSet) -> dict[Key, bool]:
    """Each key of the file -> whether its latest row is an answer, which need not be asked for again.

    Raises:
        DataError: a line is not a result row.
        UsageError: a row belongs to another configuration or test set.
    """
    config = target.digest()
    numbers = {cases.index(number): number for number in range(len(cases))}
    found: dict[Key, bool] = {}
    for key, row in journal.rows():
        number = numbers.get(key[0])
        _require_same(journal, key, "configuration", row.get("config"), config)
        _require_same(journal, key, "request", row.get("case"), cases.identity(number) if number is not None else None)
        found[key] = row["status"] == "success"
    return found


def _require_same(journal: Journal, key: Key, what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise UsageError(
            f"{journal.path}: the row of line {key[0]} belongs to another {what} (the model, base URL, extra body, "
            "settings or test set changed); name another file with --output, or discard this one with --fresh"
        )


def _cannot_open(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path}: cannot be written: {error.strerror}; name another file with --output")


def _cannot_write(path: Path, error: OSError) -> TrialbedError:
    return TrialbedError(
        f"{path}: cannot be written: {error.strerror}. The answers in it are kept; free some disk space, then "
        "continue with --incremental"
    )


def _repair_tail(path: Path, file: int) -> None:
    """Complete a last line that lacks only its newline, or move a torn one to a file of its own."""
    size = os.fstat(file).st_size
    if size == 0 or os.pread(file, 1, size - 1) == b"\n":
        return
    start = _start_of_last_line(file, size)
    tail = os.pread(file, size - start, start)
    try:
        parse_json_fast(tail)
    except ValueError:
        with path.with_name(path.name + TORN).open("ab") as torn:
            torn.write(tail + b"\n")
        os.ftruncate(file, start)
    else:
        _write(file, b"\n")


def _start_of_last_line(file: int, size: int) -> int:
    step, end = 1 << 16, size
    while end > 0:
        start = max(0, end - step)
        found = os.pread(file, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _write(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, offset, line
            offset += len(line)


def _row(path: Path, number: int, line: bytes) -> Row:
    where = f"{path}, line {number}: not a result row"
    try:
        row = parse_json_fast(line)
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error
    if not isinstance(row, dict) or not isinstance(row.get("data_index"), int) or "status" not in row:
        raise DataError(f"{where}: it has no data_index or no status; name another file with --output")
    return row
