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
from trialbed_plugins.datasets._reading import parse

PART = 2**20
"""Bytes that are read at once; more for a query that is larger."""

BLANK = " \t\r\n"


CUT = 16
"""Characters before the end of a part in which a fault may only be that the part ends there."""

PLACE = re.compile(r"line (\d+) column (\d+)")


class JsonFault(ValueError):
    """A part of a file that is not JSON, or has another form.

    Attributes:
        start: its first byte.
        text: its beginning, the fault included.
        before: JSON in which it stands as in the file, without all queries before it; empty for a value.
        is_end: whether the file ends in the text.
    """

    def __init__(self, start: int, text: bytes, before: bytes = b"", *, is_end: bool = False) -> None:
        super().__init__(f"byte {start}: is not valid JSON, or not in this place")
        self.start = start
        self.text = text
        self.before = before
        self.is_end = is_end


class FoundQuery(NamedTuple):
    """A query in a file.

    Attributes:
        start, end: its first byte, and the one behind its last.
        text: these bytes.
        is_finite: whether all of its numbers are in range.
        within: the key of the list that it is in.
    """

    start: int
    end: int
    text: bytes
    is_finite: bool = True
    within: tuple[str, ...] = ()

    def check_numbers(self, path: Path, place: int) -> None:
        """Check that all numbers are in range.

        Args:
            path: of the file.
            place: of the query among its queries.

        Raises:
            DataError: one is not; names its key.
        """
        if not self.is_finite:
            parse(path, self.text.decode(), (*self.within, place))


def each_query(file: BinaryIO) -> Iterator[FoundQuery | str]:
    """Yield the dataset's name, if it has one, and its queries in order.

    Raises:
        JsonFault: the file is not JSON, or has another form.
        ValueError: the file has another form.
        RecursionError: a query is nested too deeply.
    """
    window = _Window(file)
    yield from _queries(window) if window.next() == "[" else _named_queries(window)
    if window.next():
        raise window.fault()


def is_list(file: BinaryIO) -> bool:
    """Return whether a file begins like a list."""
    file.seek(0)
    return _Window(file).next() == "["


def each_parsed(
    path: Path, read: Callable[[bytes, int], Query], whole: Callable[[], Sequence[Query]]
) -> Iterator[Query]:
    """Yield the queries of a file, of which one at a time is in memory.

    Args:
        read: makes a query of its bytes and its place; a ``ValueError`` is a fault of the file.
        whole: reads all of a file that has another form, and names where.

    Raises:
        DataError: the file is not JSON.
    """
    count = 0
    try:
        with path.open("rb") as file, name_faults(path, file):
            for found in each_query(file):
                if isinstance(found, FoundQuery):
                    found.check_numbers(path, count)
                    query = read(found.text, count)
                    count += 1
                    yield query
    except (OSError, ValueError, RecursionError):
        yield from whole()[count:]


@contextmanager
def name_faults(path: Path, file: BinaryIO) -> Iterator[None]:
    """Name the place at which a file is not JSON by its line and its column.

    Raises:
        DataError: in place of the ``JsonFault``.
    """
    try:
        yield
    except JsonFault as fault:
        try:
            from_json(fault.before + fault.text, allow_inf_nan=False)
        except ValueError as error:
            if fault.is_end or "EOF" not in str(error):
                raise DataError(f"{path}: is not valid JSON: {_with_place(str(error), file, fault)}") from fault
        raise


def _with_place(message: str, file: BinaryIO, fault: JsonFault) -> str:
    """The message about a part of a file, with its line and its column in the whole."""
    file.seek(0)
    lines, column, left = 0, -len(fault.before), fault.start
    while left and (part := file.read(min(PART, left))):
        left -= len(part)
        lines += part.count(b"\n")
        end = part.rfind(b"\n")
        column = len(part) - end - 1 - len(fault.before) if end >= 0 else column + len(part)

    def in_file(found: re.Match[str]) -> str:
        own = int(found[1])
        return f"line {lines + own} column {int(found[2]) + (column if own == 1 else 0)}"

    return PLACE.sub(in_file, message)


def _named_queries(window: _Window) -> Iterator[FoundQuery | str]:
    window.expect("{", b"")
    missing = {"name", "queries"}
    before = b"{"
    while missing:
        if window.next() != '"':
            raise window.fault(before)
        key = json.loads(window.value().text)
        if key not in missing:
            raise ValueError(f"the key {key!r:.40} is unknown, or occurs twice")
        missing.remove(key)
        window.expect(":", b'{"x"')
        if key == "name":
            yield _name(window.value())
        else:
            yield from _queries(window, b'{"x":', ("queries",))
        window.expect("," if missing else "}", b'{"x":0')
        before = b'{"x":0,'
    window.before = b"{}"


def _name(found: FoundQuery) -> str:
    if not found.text.startswith(b'"'):
        raise ValueError("the name is no text")
    return str(json.loads(found.text))


def _queries(window: _Window, before: bytes = b"", within: tuple[str, ...] = ()) -> Iterator[FoundQuery]:
    """Yield the queries of a list.

    Args:
        before: JSON in which the list is, without all before it.
        within: its key.
    """
    window.expect("[", before)
    is_first = True
    while not (is_first and window.next() == "]"):
        if window.next() != "{":
            raise window.fault(before + (b"[" if is_first else b"[0,"))
        yield window.value()._replace(within=within)
        is_first = False
        if window.next() == "]":
            break
        window.expect(",", before + b"[0")
    window.expect("]", before)
    window.before = b"[]"


def _refuse_constant(text: str) -> float:
    raise _ForeignConstant(f"{text} is not JSON")


class _ForeignConstant(ValueError):
    """A text has ``NaN`` or an infinity, which JSON lacks."""


def _is_certain(error: ValueError, length: int) -> bool:
    """Return whether a text of this length has a fault that no more text could mend."""
    if isinstance(error, json.JSONDecodeError):
        return error.pos < length - CUT and not error.msg.startswith("Unterminated")
    return isinstance(error, _ForeignConstant)


class _Window:
    """The part of a file that is looked at: each character is a byte, and only texts have others than ASCII's.

    Attributes:
        before: as a ``JsonFault`` behind the end has it.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.before = b""
        self._file = file
        self._text = ""
        self._place = 0
        self._passed = 0
        self._is_end = False
        self._is_finite = True
        self._read = json.JSONDecoder(parse_float=self._number, parse_constant=_refuse_constant).raw_decode

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

    def expect(self, character: str, before: bytes) -> None:
        """Pass this character.

        Args:
            before: as a ``JsonFault`` has it.
        """
        if self.next() != character:
            raise self.fault(before)
        self._place += 1

    def fault(self, before: bytes | None = None) -> JsonFault:
        """Return the fault that the file has here, or soon behind."""
        while len(self._text) - self._place < CUT and self._more(CUT):
            pass
        lead = self.before if before is None else before
        return JsonFault(self._passed + self._place, self._left(), lead, is_end=self._is_end)

    def value(self) -> FoundQuery:
        """Pass a text or an object: values whose end can be seen."""
        if self.next() not in ('"', "{"):
            raise self.fault(b'{"x":')
        size = PART
        while True:
            self._is_finite = True
            try:
                _, end = self._read(self._text, self._place)
            except ValueError as error:
                start = self._passed + self._place
                if _is_certain(error, len(self._text)):
                    raise JsonFault(start, self._left()) from error
                if not self._more(size):
                    raise JsonFault(start, self._left(), is_end=True) from error
                size *= 2
                continue
            found = self._text[self._place : end].encode("latin-1")
            start, self._place = self._passed + self._place, end
            return FoundQuery(start, start + len(found), found, self._is_finite)

    def _number(self, text: str) -> float:
        value = float(text)
        self._is_finite = self._is_finite and math.isfinite(value)
        return value

    def _left(self) -> bytes:
        return self._text[self._place :].encode("latin-1")

    def _more(self, size: int) -> bool:
        """Read on, and let go of all that was passed; return whether there was more."""
        part = self._file.read(size)
        self._is_end = not part
        self._text = self._text[self._place :] + part.decode("latin-1")
        self._passed += self._place
        self._place = 0
        return bool(part)
