"""The results of a stored verification: rows, and the files that hold them."""

from __future__ import annotations

import hashlib
import os
import tempfile
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path

from trialbed.files import replacing
from trialbed.store import StoredRun, verified_cases
from trialbed.wire import dump_json, parse_json_fast
from trialbed_verify.table import Answers, Builder
from trialbed_verify.vendor_rows import FileRows
from trialbed_verify.verification.results._row import Row
from trialbed_verify.verification.results._trials import row_of

Key = tuple[int, int]
"""Line of the test set and number of the trial."""


LONGEST_LINE = 2**22 - 1
"""Bytes of a line that is kept; longer ones are read from the store."""


class LineCache:
    """The lines of the rows that this session made, in a temporary file, so that they need not be read from the store.

    The store has all that is in it. A line that the disk has no room for is left out.

    Args:
        folder: where the file is; it has no name there.
    """

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - see close
        self._places: dict[int, array[int]] = {}
        self._end = 0

    def __contains__(self, key: object) -> bool:
        return isinstance(key, tuple) and self._place(key) > 0

    def close(self) -> None:
        """Delete the file."""
        self._file.close()

    def add(self, key: Key, line: bytes) -> None:
        """Keep the line of a case."""
        if len(line) > LONGEST_LINE:
            return
        try:
            written = os.pwrite(self._file.fileno(), line, self._end)
        except OSError:
            return
        if written == len(line):
            number, trial = key
            places = self._places.setdefault(trial, array("Q"))
            places.extend([0] * (number + 1 - len(places)))
            places[number] = self._end * (LONGEST_LINE + 1) + written
            self._end += written

    def __getitem__(self, key: Key) -> bytes:
        start, size = divmod(self._place(key), LONGEST_LINE + 1)
        if not size:
            raise KeyError(key)
        return os.pread(self._file.fileno(), size, start)

    def _place(self, key: Key) -> int:
        """Return where a line starts and how long it is, in one number: many cases are to take little memory."""
        number, trial = key
        places = self._places.get(trial)
        return places[number] if places is not None and number < len(places) else 0


def stored_rows(run: StoredRun, label: str) -> Iterator[Row]:
    """Return the rows of an endpoint, in the order of the test set."""
    return (row_of(case) for _, case in verified_cases(run, label) if case is not None)


def write_rows(
    run: StoredRun,
    label: str,
    path: Path,
    written: Callable[[str], None] | None = None,
    made: LineCache | None = None,
) -> Answers | None:
    """Replace a results file, atomically, by one of an endpoint's rows, and return them for a summary; None if none.

    Args:
        written: is given the file's SHA-256 before it takes its place.
        made: has the lines of cases that are not read from the store.

    Raises:
        OSError: the file cannot be written.
    """
    builder, digest, offset = Builder(FileRows(path), compared=False), hashlib.sha256(), 0
    with replacing(path) as file:
        for number, (row, line) in enumerate(_lines(run, label, made), 1):
            file.write(line)
            digest.update(line)
            builder.add(number, offset, row)
            offset += len(line)
        if written is not None:
            written(digest.hexdigest())
    return next(iter(builder.tables()), None)


def _lines(run: StoredRun, label: str, made: LineCache | None) -> Iterator[tuple[Row, bytes]]:
    for key, case in verified_cases(run, label, () if made is None else made):
        if case is not None:
            row = row_of(case)
            yield row, dump_json(row) + b"\n"
        elif made is not None:
            line = made[key]
            yield parse_json_fast(line), line
