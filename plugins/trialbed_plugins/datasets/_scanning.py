"""Finds the queries in a file with a part of it in memory: ``{"name": …, "queries": […]}``, or a list of them alone."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pydantic_core import from_json

from trialbed.errors import DataError
from trialbed.records import Query

PART = 2**20
"""Bytes that are read at once; more for a query that is larger."""

BLANK = " \t\r\n"


CUT = 16
"""Characters before the end of a part in which a fault may only be that the part ends there."""

PLACE = re.compile(r"line (\d+) column (\d+)")


class JsonFault(ValueError):
    """A value that is not JSON.

    Attributes:
        start: its first byte.
        text: its beginning, the fault included.
    """

    def __init__(self, start: int, text: bytes) -> None:
        super().__init__(f"byte {start}: is not valid JSON")
        self.start = start
        self.text = text


class FoundQuery(NamedTuple):
    """A query in a file.

    Attributes:
        start, end: its first byte, and the one behind its last.
        text: these bytes.
    """

    start: int
    end: int
    text: bytes


def each_query(file: BinaryIO) -> Iterator[FoundQuery | str]:
    """Yield the dataset's name, if it has one, and its queries in order.

    Raises:
        JsonFault: a query is not JSON.
        ValueError: the file has another form, or is not JSON elsewhere.
        RecursionError: a query is nested too deeply.
    """
    window = _Window(file)
    yield from _queries(window) if window.next() == "[" else _named_queries(window)
    if window.next():
        raise ValueError("something follows the end")


def is_list(file: BinaryIO) -> bool:
    """Return whether a file begins like a list."""
    file.seek(0)
    return _Window(file).next() == "["


def each_parsed(
    path: Path, parse: Callable[[bytes, int], Query], whole: Callable[[], Sequence[Query]]
) -> Iterator[Query]:
    """Yield the queries of a file, of which one at a time is in memory.

    Args:
        parse: makes a query of its bytes and its place; a ``ValueError`` is a fault of the file.
        whole: reads all of a file that has a fault between queries, and names it.

    Raises:
        DataError: a query is not JSON.
    """
    count = 0
    try:
        with path.open("rb") as file, name_faults(path, file):
            for found in each_query(file):
                if isinstance(found, FoundQuery):
                    query = parse(found.text, count)
                    count += 1
                    yield query
    except (OSError, ValueError, RecursionError):
        yield from whole()[count:]


@contextmanager
def name_faults(path: Path, file: BinaryIO) -> Iterator[None]:
    """Name the place of a query that is not JSON by its line and its column in the file.

    Raises:
        DataError: in place of the ``JsonFault``.
    """
    try:
        yield
    except JsonFault as fault:
        try:
            from_json(fault.text, allow_inf_nan=False)
        except ValueError as error:
            if "EOF" not in str(error):
                raise DataError(f"{path}: is not valid JSON: {_with_place(str(error), file, fault.start)}") from fault
        raise


def _with_place(message: str, file: BinaryIO, start: int) -> str:
    """The message about a part of a file, with its line and its column in the whole."""
    file.seek(0)
    lines, column, left = 0, 0, start
    while left and (part := file.read(min(PART, left))):
        left -= len(part)
        lines += part.count(b"\n")
        end = part.rfind(b"\n")
        column = len(part) - end - 1 if end >= 0 else column + len(part)

    def in_file(found: re.Match[str]) -> str:
        own = int(found[1])
        return f"line {lines + own} column {int(found[2]) + (column if own == 1 else 0)}"

    return PLACE.sub(in_file, message)


def _named_queries(window: _Window) -> Iterator[FoundQuery | str]:
    window.expect("{")
    missing = {"name", "queries"}
    while missing:
        if window.next() != '"':
            raise ValueError("a key is no text")
        key = json.loads(window.value().text)
        if key not in missing:
            raise ValueError(f"the key {key!r:.40} is unknown, or occurs twice")
        missing.remove(key)
        window.expect(":")
        if key == "name":
            yield _name(window.value())
        else:
            yield from _queries(window)
        window.expect("," if missing else "}")


def _name(found: FoundQuery) -> str:
    if not found.text.startswith(b'"'):
        raise ValueError("the name is no text")
    return str(json.loads(found.text))


def _queries(window: _Window) -> Iterator[FoundQuery]:
    window.expect("[")
    if window.next() == "]":
        window.expect("]")
        return
    while True:
        if window.next() != "{":
            raise ValueError("a query is no object")
        yield window.value()
        if window.next() == "]":
            window.expect("]")
            return
        window.expect(",")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is out of range")
    return value


def _is_certain(error: ValueError, length: int) -> bool:
    """Return whether a text of this length has a fault that no more text could mend."""
    return (
        isinstance(error, json.JSONDecodeError)
        and error.pos < length - CUT
        and not error.msg.startswith("Unterminated")
    )


class _Window:
    """The part of a file that is looked at: each character is a byte, and only texts have others than ASCII's."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._text = ""
        self._place = 0
        self._before = 0
        self._read = json.JSONDecoder(parse_float=_finite, parse_constant=_finite).raw_decode

    def next(self) -> str:
        """The next character that is not blank; empty at the end."""
        while True:
            while self._place < len(self._text):
                character = self._text[self._place]
                if character not in BLANK:
                    return character
                self._place += 1
            if not self._more(PART):
                return ""

    def expect(self, character: str) -> None:
        """Pass this character."""
        if self.next() != character:
            raise ValueError(f"byte {self._before + self._place}: {character} is expected")
        self._place += 1

    def value(self) -> FoundQuery:
        """Pass a text or an object: values whose end can be seen."""
        if self.next() not in ('"', "{"):
            raise ValueError(f"byte {self._before + self._place}: a text or an object is expected")
        size = PART
        while True:
            try:
                _, end = self._read(self._text, self._place)
            except ValueError as error:
                if _is_certain(error, len(self._text)):
                    raise JsonFault(self._before + self._place, self._text[self._place :].encode("latin-1")) from error
                if not self._more(size):
                    raise
                size *= 2
                continue
            found = self._text[self._place : end].encode("latin-1")
            start, self._place = self._before + self._place, end
            return FoundQuery(start, start + len(found), found)

    def _more(self, size: int) -> bool:
        """Read on, and let go of all that was passed; return whether there was more."""
        part = self._file.read(size)
        self._text = self._text[self._place :] + part.decode("latin-1")
        self._before += self._place
        self._place = 0
        return bool(part)
