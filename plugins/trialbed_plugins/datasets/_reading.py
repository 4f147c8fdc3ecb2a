"""Reads JSON, JSON Lines and YAML, as a whole or one query at a time, and names their errors by line or key."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, takewhile
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from trialbed.errors import DataError
from trialbed.texts import whole_texts
from trialbed.wire import finite_float, json_decoder
from trialbed_tools.located import read_yaml

T = TypeVar("T")

Key = tuple[int | str, ...]

QUERIES = "queries"
"""The key of the list of queries, which is read one item at a time."""

PART = 2**18
"""Bytes that are read at once; more for a query that is larger."""

CUT = 16
"""Characters before the end of a part in which a fault may only be that the part ends there."""

BLANK = re.compile(r"[ \t\r\n]*")


class JsonItem(NamedTuple):
    """A value in a file: its key there, and the value as JSON and as plain objects."""

    key: Key
    text: str
    value: Any


def each_item(path: Path) -> Iterator[JsonItem]:
    """Yield the items of the list in a file, or the values of the object in it, with the items of ``queries``.

    Of JSON and JSON Lines, one of them is in memory at a time; YAML is parsed as a whole.

    Raises:
        DataError: the file cannot be read, or is not JSON or YAML; names the line.
    """
    if path.suffix in (".yaml", ".yml"):
        yield from _yaml_items(read_yaml(path).value, ())
        return
    with _open(path) as text:
        if path.suffix == ".jsonl":
            for place in takewhile(lambda _: text.next(), count()):
                yield JsonItem((place,), *text.value())
        elif text.next() == "[":
            yield from _items(text, ())
        elif text.next() == "{":
            yield from _members(text)
        else:
            yield JsonItem((), *text.value())
        text.end()


def _yaml_items(value: Any, key: Key) -> Iterator[JsonItem]:
    if isinstance(value, list) and key in ((), (QUERIES,)):
        for place, item in enumerate(value):
            yield JsonItem((*key, place), json.dumps(item), item)
    elif isinstance(value, dict) and not key:
        for name, member in value.items():
            yield from _yaml_items(member, (name,))
    else:
        yield JsonItem(key, json.dumps(value), value)


def read_json(path: Path, adapter: TypeAdapter[T]) -> T:
    """The value in a file, in the form that the adapter asks for.

    Raises:
        DataError: as ``each_item`` and ``validate`` say.
    """
    with _open(path) as text:
        item = JsonItem((), *text.value())
        text.end()
    return validate(path, adapter, item)


def validate(path: Path, adapter: TypeAdapter[T], item: JsonItem) -> T:
    """A value of a file in the form that the adapter asks for. Halves of surrogate pairs in texts are replaced.

    Raises:
        DataError: a key is missing or of a wrong type; names it.
    """
    try:
        try:
            return adapter.validate_json(item.text)
        except ValidationError as error:
            if error.errors(include_url=False)[0]["type"] != "json_invalid":
                raise
            try:
                return adapter.validate_json(json.dumps(whole_texts(item.value)))
            except RecursionError:
                raise error from None
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False)[0]
        key, query = _inner_key(item.value, fault["loc"])
        reason = "the key is missing" if fault["type"] == "missing" else fault["msg"][:1].lower() + fault["msg"][1:]
        named = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in (*item.key, *key))
        raise DataError(f"{path}: {query}{named.removeprefix('.') or 'the whole'}: {reason}") from error


def _inner_key(value: Any, loc: Key) -> tuple[Key, str]:
    """The key of a fault, without the members of unions that pydantic names too, and the query that it is in."""
    key: list[int | str] = []
    query = ""
    for number, part in enumerate(loc):
        if isinstance(value, dict) and "query_id" in value and not query:
            query = f"query {value['query_id']!r}, "
        try:
            value = value[part]
        except (LookupError, TypeError):
            if not isinstance(value, dict) or number < len(loc) - 1:
                continue
        key.append(part)
    return tuple(key), query


@contextmanager
def _open(path: Path) -> Iterator[_JsonText]:
    try:
        with path.open("rb") as file:
            yield _JsonText(path, file)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def _items(text: _JsonText, key: Key) -> Iterator[JsonItem]:
    text.take("[")
    if text.next() == "]":
        text.take("]")
        return
    for place in count():
        yield JsonItem((*key, place), *text.value())
        if text.take(",]") == "]":
            return


def _members(text: _JsonText) -> Iterator[JsonItem]:
    text.take("{")
    seen: set[str] = set()
    while text.next() != "}" or seen:
        if text.next() != '"':
            raise text.fault("Expecting property name enclosed in double quotes")
        _, name = text.value()
        if name in seen:
            raise text.fault(f"the key {name!r:.40} occurs twice")
        seen.add(name)
        text.take(":")
        if name == QUERIES and text.next() == "[":
            yield from _items(text, (name,))
        else:
            yield JsonItem((name,), *text.value())
        if text.take(",}") == "}":
            return
    text.take("}")


class _JsonText:
    """The text of a file, of which a part is in memory."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._read = json_decoder(finite_float).raw_decode
        self._text = ""
        self._at = 0
        # Where the part begins in the file.
        self._line, self._column = 1, 1

    def next(self) -> str:
        """Return the next character that is not blank; empty at the end."""
        while True:
            self._at = BLANK.match(self._text, self._at).end()  # type: ignore[union-attr] # it matches anything
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more(PART):
                return ""

    def take(self, wanted: str) -> str:
        """Pass one of these characters, and return it."""
        found = self.next()
        if not found or found not in wanted:
            raise self.fault(f"Expecting {' or '.join(map(repr, wanted))}")
        self._at += 1
        return found

    def end(self) -> None:
        """Check that nothing follows."""
        if self.next():
            raise self.fault("Extra data")

    def value(self) -> tuple[str, Any]:
        """Pass a value, and return it as JSON and as plain objects."""
        self.next()
        size = PART
        while True:
            size *= 2
            try:
                value, end = self._read(self._text, self._at)
            except json.JSONDecodeError as error:
                ahead = error.pos - self._at
                may_be_cut = error.pos >= len(self._text) - CUT or error.msg.startswith("Unterminated")
                if not (may_be_cut and self._more(size)):
                    raise self.fault(error.msg.removesuffix(" at"), ahead) from error
            except ValueError as error:
                raise self.fault(str(error)) from error
            except RecursionError:
                raise self.fault("it is nested too deeply") from None
            else:
                length = end - self._at
                # A number may go on behind the end of the part.
                if end < len(self._text) or not self._more(size):
                    self._at += length
                    return self._text[self._at - length : self._at], value

    def fault(self, message: str, ahead: int = 0) -> DataError:
        """Return the error of what stands some characters ahead."""
        line, column = self._place(self._text[: self._at + ahead])
        return DataError(f"{self._path}: is not valid JSON: {message}: line {line} column {column}")

    def _place(self, before: str) -> tuple[int, int]:
        """Return the line and the column behind a text with which the part begins."""
        lines = before.count("\n")
        return self._line + lines, len(before) - before.rfind("\n") if lines else self._column + len(before)

    def _more(self, size: int) -> bool:
        """Read on, and let go of all that was passed; return whether there was more."""
        part = self._file.read(size)
        try:
            added = self._decode(part, not part)
        except UnicodeDecodeError as error:
            line = self._place(self._text)[0] + error.object[: error.start].count(b"\n")
            raise DataError(f"{self._path}: is not UTF-8 text: {error.reason} in line {line}") from error
        self._line, self._column = self._place(self._text[: self._at])
        self._text = self._text[self._at :] + added
        self._at = 0
        return bool(part)
