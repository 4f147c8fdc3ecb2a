"""The results file while it grows: one JSON line per case that has ended, durable, never torn."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson
from filelock import FileLock, Timeout

from trialbed.errors import DataError, UsageError
from trialbed.secrets import MIN_SECRET, REDACTED

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
        self._secrets = [secret.encode() for secret in secrets if len(secret) >= MIN_SECRET]
        self._lock = FileLock(path.with_name(f".{path.name}.lock"))
        self._file = -1
        self._unsynced = False
        self._spots: dict[Key, int] = {}

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._open)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.sync()
        os.close(self._file)
        self._lock.release()

    def rows(self) -> Iterator[tuple[Key, dict[str, Any]]]:
        """Every row in the file, in its order, with its key.

        Raises:
            DataError: a line is no result row; names it.
        """
        for number, spot, line in _lines(self.path):
            row = _row(self.path, number, line)
            key = (int(row["data_index"]), int(row.get("trial", 0)))
            self._spots[key] = spot
            yield key, row

    def last_rows(self) -> Iterator[tuple[Key, dict[str, Any]]]:
        """The last row of each key that ``rows`` or ``append`` has seen, in the order of keys."""
        with self.path.open("rb") as file:
            for key in sorted(self._spots):
                file.seek(self._spots[key])
                yield key, orjson.loads(file.readline())

    def discard(self) -> None:
        """Forget every row."""
        os.ftruncate(self._file, 0)
        self._spots.clear()

    def append(self, key: Key, row: dict[str, Any]) -> None:
        """Add a row; a later one of the same key replaces it when the file is settled."""
        line = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)
        for secret in self._secrets:
            line = line.replace(secret, REDACTED.encode())
        self._spots[key] = os.lseek(self._file, 0, os.SEEK_END)
        _write(self._file, line)
        self._unsynced = True

    async def sync(self) -> None:
        """Have the disk hold what was appended."""
        if self._unsynced:
            self._unsynced = False
            await asyncio.to_thread(os.fsync, self._file)

    async def settle(self) -> None:
        """Replace the file by one that has the last row of each key, in order; all at once."""
        await asyncio.to_thread(self._settle)

    def _open(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except Timeout as error:
            raise UsageError(f"{self.path}: another process is writing to it; name another --output") from error
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be written: {error.strerror}; name another --output") from error
        _mend(self.path, self._file)

    def _settle(self) -> None:
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        try:
            with os.fdopen(handle, "wb") as target, self.path.open("rb") as source:
                for key in sorted(self._spots):
                    source.seek(self._spots[key])
                    target.write(source.readline())
                target.flush()
                os.fsync(target.fileno())
            os.chmod(name, 0o644)
            os.replace(name, self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        _sync_folder(self.path.parent)


def _mend(path: Path, file: int) -> None:
    """Complete a last line that lacks only its end, or move what a crash left of it out of the way."""
    size = os.fstat(file).st_size
    if size == 0 or os.pread(file, 1, size - 1) == b"\n":
        return
    start = _start_of_last_line(file, size)
    tail = os.pread(file, size - start, start)
    try:
        orjson.loads(tail)
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


def _row(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = orjson.loads(line)
        int(row["data_index"])
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(f"{path}, line {number}: no result row: {error}") from error
    return dict(row)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
