"""Bytes that are put aside and read again, in memory as long as they are few."""

from __future__ import annotations

import tempfile
import weakref
from array import array
from collections.abc import Iterator
from threading import Lock
from typing import Any

from trialbed.errors import DataError

IN_MEMORY = 2**20
"""Bytes from which on they are in a temporary file, which has no name and ends with its spool or its process."""


class Spool:
    """Keeps bytes for any number of ``SpooledParts``; threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._end = 0
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed with the spool
        weakref.finalize(self, self._file.close)

    def write(self, part: bytes) -> int:
        """Put bytes aside, and return where they begin.

        Raises:
            DataError: there is no room for them.
        """
        with self._lock:
            begin = self._end
            try:
                self._file.seek(begin)
                self._file.write(part)
            except OSError as error:
                raise DataError(
                    f"{tempfile.gettempdir()} cannot be written: {error.strerror}; the environment variable TMPDIR "
                    "names another folder for temporary files"
                ) from error
            self._end += len(part)
            return begin

    def read(self, begin: int, length: int) -> bytes:
        """Return bytes that were put aside."""
        with self._lock:
            self._file.seek(begin)
            return self._file.read(length)

    def __getstate__(self) -> bytes:
        return self.read(0, self._end)

    def __setstate__(self, content: bytes) -> None:
        self.__init__()  # type: ignore[misc] # of the same class
        self.write(content)


class SpooledParts:
    """A list of bytes in a spool, of which memory holds where each is.

    Args:
        spool: others may have their parts in it; None for one of its own.
    """

    def __init__(self, spool: Spool | None = None) -> None:
        self._spool = spool or Spool()
        self._begins: array[Any] = array("Q")
        self._lengths: array[Any] = array("I")

    def append(self, part: bytes) -> None:
        """Add a part.

        Raises:
            DataError: there is no room for it.
        """
        self._begins.append(self._spool.write(part))
        self._lengths.append(len(part))

    def __getitem__(self, place: int) -> bytes:
        return self._spool.read(self._begins[place], self._lengths[place])

    def __iter__(self) -> Iterator[bytes]:
        return map(self.__getitem__, range(len(self)))

    def __len__(self) -> int:
        return len(self._begins)
