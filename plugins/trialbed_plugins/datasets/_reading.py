"""Reads JSON, JSON Lines and YAML, and names their errors by line or key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from trialbed.errors import DataError
from trialbed.files import read_text
from trialbed.texts import whole_texts
from trialbed.wire import finite_float, json_decoder
from trialbed_tools.located import read_yaml

T = TypeVar("T")

Key = tuple[int | str, ...]

QUERIES = "queries"
"""The key of the list of queries."""

NEXT = re.compile(r"[^ \t\r\n]")
"""The beginning of the next value."""


class FileItem(NamedTuple):
    """A value in a file, and its key there."""

    key: Key
    value: Any


def read_items(path: Path) -> Iterator[FileItem]:
    """Yield the items of the list in a file, or the values of the object in it, with the items of ``queries``.

    Raises:
        DataError: the file cannot be read, or is not JSON or YAML; names the line.
    """
    yield from _items(read_yaml(path).value if path.suffix in (".yaml", ".yml") else _read(path), ())


def _items(value: Any, key: Key) -> Iterator[FileItem]:
    if isinstance(value, list) and key in ((), (QUERIES,)):
        for place, item in enumerate(value):
            value[place] = None  # else memory would hold all of a large file twice
            yield FileItem((*key, place), item)
    elif isinstance(value, dict) and not key:
        for name, member in value.items():
            yield from _items(member, (name,))
    else:
        yield FileItem(key, value)


def read_json(path: Path, adapter: TypeAdapter[T]) -> T:
    """The value in a file, in the form that the adapter asks for.

    Raises:
        DataError: as ``read_items`` and ``validate`` say.
    """
    return validate(path, adapter, FileItem((), _read(path)))


def _read(path: Path) -> Any:
    """The value in a file of JSON; of JSON Lines the list of them."""
    text, decoder = read_text(path), json_decoder(finite_float, unique=True)
    try:
        return list(_values(text, decoder)) if path.suffix == ".jsonl" else decoder.decode(text)
    except RecursionError:
        raise DataError(f"{path}: is not valid JSON: it is nested too deeply") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise DataError(f"{path}: is not valid JSON: {error.msg.removesuffix(' at')}: {place}") from error
    except ValueError as error:
        raise DataError(f"{path}: is not valid JSON: {error}") from error


def _values(text: str, decoder: json.JSONDecoder) -> Iterator[Any]:
    end = 0
    while begin := NEXT.search(text, end):
        value, end = decoder.raw_decode(text, begin.start())
        yield value


def validate(path: Path, adapter: TypeAdapter[T], item: FileItem) -> T:
    """A value of a file in the form that the adapter asks for. Halves of surrogate pairs in texts are replaced.

    Raises:
        DataError: a key is missing or of a wrong type; names it.
    """
    try:
        try:
            return adapter.validate_json(json.dumps(item.value))
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
