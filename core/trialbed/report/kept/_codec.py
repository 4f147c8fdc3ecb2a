"""Turns the records of a report into JSON and back.

pydantic would do the same, and takes longer to learn these records than they take to be read.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from trialbed.records import Json, Record

Read = Callable[[Any], Any]


def plain(value: Any) -> Json:
    """Return a value in JSON's types; a mapping whose keys are no texts as a list of pairs."""
    if isinstance(value, Record):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: plain(own) for key, own in value.items()}
        return [[plain(key), plain(own)] for key, own in value.items()]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, list | tuple | set | frozenset):
        return list(map(plain, value))
    return value


@cache
def reader(kind: Any) -> Read:
    """Return what reads values of a type from what ``plain`` made of them; sequences are tuples then."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _optional(parts)
    if origin is tuple and Ellipsis not in parts:
        each = [reader(part) for part in parts]
        return lambda value: tuple(read(own) for read, own in zip(each, value, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(*map(reader, parts))
    if isinstance(origin, type) and issubclass(origin, tuple | Sequence | Collection):
        own = reader(parts[0])
        return tuple if own is _as_it_is else lambda value: tuple(map(own, value))
    if isinstance(kind, type) and issubclass(kind, Record):
        return kind.model_validate
    if isinstance(kind, type) and issubclass(kind, datetime):
        return datetime.fromisoformat
    if isinstance(kind, type) and issubclass(kind, tuple):
        return lambda value: kind(*value)  # a named one, of numbers
    if is_dataclass(kind):
        return _dataclass(kind)
    if kind in (Any, str, int, float, bool, type(None)) or origin is Literal:
        return _as_it_is
    raise TypeError(f"{kind} cannot be read from JSON")


@cache
def shape(kind: Any) -> str:
    """Return the fields of a type and of all types in it as text, which is another where any of them is another."""
    if parts := get_args(kind):
        return f"{get_origin(kind)}[{', '.join(map(shape, parts))}]"
    if isinstance(kind, type) and issubclass(kind, Record):
        own: dict[str, Any] = {name: field.annotation for name, field in kind.model_fields.items()}
    elif is_dataclass(kind):
        hints = get_type_hints(kind)
        own = {item.name: hints[item.name] for item in fields(kind)}
    else:
        return repr(kind)
    return f"{kind}({', '.join(f'{name}: {shape(one)}' for name, one in own.items())})"


def _as_it_is(value: Any) -> Any:
    return value


def _optional(parts: Sequence[Any]) -> Read:
    read = {reader(part) for part in parts if part is not type(None)}
    if read == {_as_it_is}:
        return _as_it_is
    (own,) = read
    return lambda value: None if value is None else own(value)


def _mapping(key: Read, own: Read) -> Read:
    def read(value: Any) -> dict[Any, Any]:
        pairs = value.items() if isinstance(value, dict) else value
        return {key(name): own(item) for name, item in pairs}

    return read


def _dataclass(kind: Any) -> Read:
    own = {name: reader(hint) for name, hint in get_type_hints(kind).items()}
    names = [item.name for item in fields(kind)]
    return lambda value: kind(**{name: own[name](value[name]) for name in names})
