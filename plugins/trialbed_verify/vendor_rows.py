"""Where the rows of vendors' results are read from: a results file, or anything else that has such rows."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from trialbed.errors import DataError
from trialbed.files import read_bytes, read_lines
from trialbed_verify.rows import Body, object_in

FIRST_LINE = 4_000_000
"""Bytes of a first line that are read to recognise a file."""


class PlacedRow(NamedTuple):
    """A row, its number from 1, and the place at which it is read again; a line that is cut off has no row."""

    number: int
    place: Any
    row: Body | None


class VendorRows(ABC):
    """The rows of one or several vendors; as text, the name by which they are called."""

    @property
    @abstractmethod
    def file_name(self) -> str:
        """The name of the results file that has them, without a folder."""

    @abstractmethod
    def __iter__(self) -> Iterator[PlacedRow]:
        """Yield the rows in order.

        Raises:
            DataError: they cannot be read, or one is no result row.
        """

    @abstractmethod
    def row_at(self, place: Any) -> Body:
        """Return the row at a place; empty if there is none."""

    @abstractmethod
    def describe(self, place: Any) -> dict[str, Any]:
        """Return a place as JSON."""

    @abstractmethod
    def is_baseline(self, config: str | None, /) -> bool:
        """Return whether the vendor whose configuration has this digest is marked as the baseline of its model."""

    @abstractmethod
    def provenance(self, config: str | None, /) -> Body:
        """Return the test set, the configuration, the prices and the options of the rows; empty if none are known."""

    @abstractmethod
    def is_same(self, other: VendorRows) -> bool:
        """Return whether the others are these, perhaps by another name."""


@dataclass(frozen=True)
class FileRows(VendorRows):
    """The rows of a results file; a place is the byte at which a row begins."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def file_name(self) -> str:
        """The name of the file, without its folder."""
        return self.path.name

    def __iter__(self) -> Iterator[PlacedRow]:
        offset = 0
        try:
            with self.path.open("rb") as file:
                for number, line in enumerate(read_lines(file), 1):
                    if line.strip():
                        yield PlacedRow(number, offset, self._parse(number, line))
                    offset += len(line)
        except OSError as error:
            raise DataError(f"{self}: cannot be read: {error.strerror}") from error

    def _parse(self, number: int, line: bytes) -> Body | None:
        where = f"{self}, line {number}"
        try:
            row = parse_row(line)
        except (ValueError, RecursionError) as error:
            if not line.endswith(b"\n"):
                return None
            raise DataError(f"{where}: not JSON ({error}); a results file has one JSON object per line") from error
        if not isinstance(row, dict) or "status" not in row:
            raise DataError(f"{where}: not a result row, as it has no status; name a file that bench verify wrote")
        return row

    def row_at(self, place: Any) -> Body:
        """Return the row that begins at this byte; empty if there is none."""
        try:
            with self.path.open("rb") as file:
                file.seek(place)
                row = parse_row(next(read_lines(file), b""))
        except (OSError, ValueError, RecursionError):
            return {}
        return row if isinstance(row, dict) else {}

    def describe(self, place: Any) -> dict[str, Any]:
        """Return the file, and the byte at which the row begins."""
        return {"file": str(self), "offset": place}

    def digest(self) -> str:
        """Return the SHA-256 of the file.

        Raises:
            DataError: it cannot be read.
        """
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise DataError(f"{self}: cannot be read: {error.strerror}") from error

    def is_baseline(self, config: str | None, /) -> bool:
        """Return whether the summary beside the file, by its name or by the usual one, marks it as the baseline."""
        return self._summary(config).get("is_baseline") is True

    def provenance(self, config: str | None, /) -> Body:
        """Return that of the summary beside the file."""
        return object_in(self._summary(config), "provenance")

    def _summary(self, config: str | None) -> Body:
        stem = self.path.name.removesuffix(".jsonl").removesuffix("_results")
        for name in dict.fromkeys((f"{stem}_summary.json", f"{stem}-summary.json", "summary.json")):
            try:
                found = json.loads(read_bytes(self.path.with_name(name)))
            except (OSError, ValueError):
                continue
            about = object_in(found, "provenance") if isinstance(found, dict) else {}
            if config is not None and about.get("configuration_digest") == config:
                return dict(found)
        return {}

    def is_same(self, other: VendorRows) -> bool:
        """Return whether the others are in the same file, or are those of which it was written."""
        return self.path.samefile(other.path) if isinstance(other, FileRows) else other.is_same(self)


def first_row(path: Path) -> Body:
    """Return the first row of a file; empty if there is none."""
    try:
        with path.open("rb") as file:
            row = json.loads(file.readline(FIRST_LINE))
    except (OSError, ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def parse_row(line: bytes) -> Any:
    """Return the value of a line.

    Raises:
        ValueError, RecursionError: it is not JSON.
    """
    try:
        return orjson.loads(line)
    except ValueError:
        # Other tools write NaN; lone surrogates and great numbers are JSON that the standard library alone reads.
        return json.loads(line)
