"""Values of documents as far as they are of the right type; what comes from outside may be anything."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeGuard

PIECE = 8
"""Characters of text or arguments in one event of a stream, where nothing else is said."""

MOST_TOKENS = 10**9
"""Tokens that an answer can have; larger counts are ignored."""


def text_of(value: Any) -> str:
    """Return a text; empty for anything else."""
    return value if isinstance(value, str) else ""


def list_of(value: Any) -> list[Any]:
    """Return a list; empty for anything else."""
    return value if isinstance(value, list) else []


def mapping_of(value: Any) -> Mapping[str, Any]:
    """Return an object; empty for anything else."""
    return value if isinstance(value, Mapping) else {}


def objects_of(value: Any) -> list[Any]:
    """Return the objects in a list."""
    return [one for one in list_of(value) if isinstance(one, dict)]


def schema_of(value: Any) -> Mapping[str, Any]:
    """Return a JSON Schema; one that allows all for anything else."""
    return mapping_of(value)


def number(value: Any) -> float | None:
    """Return a number; None for anything else."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def whole_number(value: Any) -> int | None:
    """Return a whole number; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def is_count(value: Any) -> TypeGuard[int]:
    """Return whether a value can count tokens."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS


def counts_of(counts: Mapping[str, Any]) -> dict[str, int]:
    """Return those of the counts that can count tokens."""
    return {name: count for name, count in counts.items() if is_count(count)}


def asked_beyond(settings: Mapping[str, Any], known: Collection[str]) -> tuple[str, ...]:
    """Return the names of the settings that are not known and ask for something."""
    return tuple(name for name, value in settings.items() if name not in known and value not in (None, False, {}, []))


def pieces(text: str, size: int | None) -> Iterator[str]:
    """Yield a text in pieces of this size; None leaves it whole."""
    if size is None:
        if text:
            yield text
        return
    yield from (text[start : start + size] for start in range(0, len(text), size))
