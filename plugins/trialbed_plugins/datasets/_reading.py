"""Reads JSON files, and names their errors by file, line and key."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from trialbed.errors import DataError

T = TypeVar("T")

Key = tuple[int | str, ...]


def parse(path: Path, text: str, within: Key = ()) -> Any:
    """The JSON value of a file's text; numbers are finite.

    Args:
        within: the key at which the text is, where it is a part of the file.

    Raises:
        DataError: it is not JSON (names line and column), or a number is out of range (names the key).
    """
    try:
        value = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise DataError(f"{path}: is not valid JSON: {error}") from error
    for key in _infinite(value):
        raise DataError(f"{path}: {place((*within, *key))}: the number is out of range")
    return value


def validate(path: Path, adapter: TypeAdapter[T], text: str, within: Key = ()) -> T:
    """The value that a file's text holds, in the form that the adapter asks for.

    Args:
        within: as ``parse`` takes it.

    Raises:
        DataError: it is not JSON (names line and column), or a key is missing or of a wrong type (names it).
    """
    value = parse(path, text, within)
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False)[0]
        key = _without_branches(value, fault["loc"])
        raise DataError(
            f"{path}: {_query(value, key)}{place((*within, *key))}: {_reason(fault['type'], fault['msg'])}"
        ) from error


def validate_part(path: Path, adapter: TypeAdapter[T], text: bytes, within: Key) -> T:
    """The value of a part of a file, in the form that the adapter asks for.

    Raises:
        ValueError: it is no text.
        DataError: as ``validate`` says.
    """
    try:
        return adapter.validate_json(text)
    except ValidationError:
        return validate(path, adapter, text.decode(), within)


def place(key: Key) -> str:
    """A key as people write it: ``[3].api_list[0].api_name``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key)
    return text.removeprefix(".") or "the whole"


def _reason(kind: str, message: str) -> str:
    return "the key is missing" if kind == "missing" else message[:1].lower() + message[1:]


def _query(value: Any, key: Key) -> str:
    """The query that the key is in, if it is known: ``query 588, ``."""
    for depth, part in enumerate(key):
        if isinstance(value, dict) and "query_id" in value:
            return f"query {value['query_id']!r}, "
        if depth == len(key) or not _has(value, part):
            return ""
        value = value[part]
    return ""


def _without_branches(value: Any, key: Key) -> Key:
    """The key without the names of union members that the validator puts into it."""
    kept: list[int | str] = []
    for number, part in enumerate(key):
        if _has(value, part):
            value = value[part]
            kept.append(part)
        elif isinstance(value, dict) and number == len(key) - 1:
            kept.append(part)
    return tuple(kept)


def _has(value: Any, part: int | str) -> bool:
    if isinstance(value, list):
        return isinstance(part, int) and -1 < part < len(value)
    return isinstance(value, dict) and part in value


def _infinite(value: Any, key: Key = ()) -> Iterator[Key]:
    if isinstance(value, float) and not math.isfinite(value):
        yield key
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _infinite(item, (*key, name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _infinite(item, (*key, number))
