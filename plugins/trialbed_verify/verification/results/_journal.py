"""The results file while it grows: one JSON line per case that has ended, durable, never torn."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from filelock import FileLock, Timeout

from trialbed.chat import dump_json, parse_json_fast
from trialbed.errors import DataError, TrialbedError, UsageError
from trialbed.files import replacing
from trialbed_verify.verification.results._redaction import Redaction

Row = dict[str, Any]

Key = tuple[int, int]
"""Line of the test set and number of the trial."""

TORN = ".torn"
"""Ends the name of the file that keeps what was left of a line that a crash tore."""


class Journal:
    """Appends rows to a results file and brings it into order at the end.

    A row is handed to the system whole before ``append`` returns, so that no crash of this process loses it;
    ``sync`` makes the disk have it. The file is in order of arrival until ``settle`` has replaced it.

    Args:
        secrets: texts that are replaced wherever a row holds them: an endpoint may send a key back.
    """

    def __init__(self, path: Path, secrets: Iterable[str] = ()) -> None:
        self.path = path
        self._redaction = Redaction(secrets)
        # It is taken in a thread and given back in another.
        self._lock = FileLock(path.with_name(f".{path.name}.lock"), thread_local=False)
        self._file = -1
        self._unsynced = False
        self._stale = False
        self._spots: dict[Key, int] = {}

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
        """How many keys have a row."""
        return len(self._spots)

    def holds(self, key: Key) -> bool:
        """Whether this key has a row."""
        return key in self._spots

    def rows(self) -> Iterator[tuple[Key, Row]]:
        """Every row in the file, in its order, with its key.

        Raises:
            DataError: a line is no result row; names it.
        """
        for number, spot, line in _lines(self.path):
            row = _row(self.path, number, line)
            key = (int(row["data_index"]), int(row.get("trial") or 0))
            self._spots[key] = spot
            yield key, row

    def last_rows(self) -> Iterator[tuple[Key, Row]]:
        """The last row of each key that ``rows`` or ``append`` has seen, in the order of keys."""
        with self.path.open("rb") as file:
            for key in sorted(self._spots):
                file.seek(self._spots[key])
                yield key, parse_json_fast(file.readline())

    def discard(self) -> None:
        """Forget every row; they stay in the file until the first new one is there to replace them."""
        self._stale = True
        self._spots.clear()

    def append(self, key: Key, row: Row) -> Row:
        """Add a row; a later one of the same key replaces it when the file is settled.

        Returns:
            The row as the file has it, without secrets.

        Raises:
            TrialbedError: it cannot be written; the file is as it was before.
        """
        line = dump_json(row)
        kept = self._redaction.line(line)
        if self._stale:
            os.ftruncate(self._file, 0)
            self._stale = False
        end = os.lseek(self._file, 0, os.SEEK_END)
        try:
            _write(self._file, kept + b"\n")
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, end)
            raise _unwritable(self.path, error) from error
        self._spots[key] = end
        self._unsynced = True
        return row if kept is line else dict(parse_json_fast(kept))

    async def sync(self) -> None:
        """Have the disk hold what was appended.

        Raises:
            TrialbedError: it cannot.
        """
        if self._unsynced:
            self._unsynced = False
            try:
                await asyncio.to_thread(os.fsync, self._file)
            except OSError as error:
                raise _unwritable(self.path, error) from error

    async def settle(self) -> None:
        """Replace the file by one that has the last row of each key, in order; all at once.

        Raises:
            TrialbedError: it cannot be written; the file is as it was before, whole but not in order.
        """
        try:
            await asyncio.to_thread(self._settle)
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def _open(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise UsageError(f"{self.path}: another process is writing to it; name another --output") from error
        except OSError as error:
            raise _not_here(self.path, error) from error
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            _mend(self.path, self._file)
        except OSError as error:
            self._lock.release()
            raise _not_here(self.path, error) from error

    def _settle(self) -> None:
        with replacing(self.path) as target, self.path.open("rb") as source:
            for key in sorted(self._spots):
                source.seek(self._spots[key])
                target.write(source.readline())


def _not_here(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path}: cannot be written: {error.strerror}; name another --output")


def _unwritable(path: Path, error: OSError) -> TrialbedError:
    return TrialbedError(
        f"{path}: cannot be written: {error.strerror}. The answers that it holds are kept; make room and go on "
        "with --incremental"
    )


def _mend(path: Path, file: int) -> None:
    """Complete a last line that lacks only its end, or move what a crash left of it out of the way."""
    size = os.fstat(file).st_size
    if size == 0 or os.pread(file, 1, size - 1) == b"\n":
        return
    start = _start_of_last_line(file, size)
    tail = os.pread(file, size - start, start)
    try:
        parse_json_fast(tail)
    except ValueError:
        with path.with_name(path.name + TORN).open("ab") as kept:
            kept.write(tail + b"\n")
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
    spot = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, spot, line
            spot += len(line)


def _row(path: Path, number: int, line: bytes) -> Row:
    where = f"{path}, line {number}: no result row"
    try:
        row = parse_json_fast(line)
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error
    if not isinstance(row, dict) or not isinstance(row.get("data_index"), int) or "status" not in row:
        raise DataError(f"{where}: it needs a data_index and a status; name another --output")
    return row
