"""Digests of an answer's calls, which can be compared: names, typed arguments, number and order."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from zlib import crc32

from trialbed.wire import lenient_json
from trialbed_verify.panel._texts import code, signature, words

LONG, SEVERAL = 40, 4
"""Characters and words from which a text counts as free text."""

DEEPEST = 40
"""Levels of nested arguments that are looked at."""

FREE = 0

Value = tuple[int, int, bool]
"""The hashes of an argument's path and of its value, ``FREE`` for free text; and whether it stands in the request."""

Calls = tuple[tuple[int, tuple[Value, ...]], ...]
"""The hash of each call's name with its values."""


def call_measures(message: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the measures of an answer's calls, by the attributes of ``Measures``; empty without calls.

    The older ``function_call`` is one.
    """
    found = message.get("tool_calls")
    listed = [found] if isinstance(found, dict) else found if isinstance(found, list) else []
    legacy = message.get("function_call")
    listed = [call for call in listed or [legacy] if isinstance(call, dict)]
    if not listed:
        return {}
    asked = _texts(request)
    functions = [call["function"] if isinstance(call.get("function"), dict) else call for call in listed]
    names = [str(function.get("name") or "") for function in functions]
    free, values = zip(*(_values(function.get("arguments"), asked) for function in functions), strict=True)
    return {
        "tools": code("\n".join(sorted(set(names)))),
        "calls": tuple(zip(map(_hash, names), values, strict=True)),
        "free": signature(word for own in free for word in own),
    }


def order_of(keys: Sequence[Hashable]) -> int:
    """Return the category of a number of calls and of their order, from keys that are equal for equal calls."""
    places = {key: place for place, key in enumerate(sorted(set(keys)))}  # type: ignore[type-var] # all are of a kind
    return code(f"{len(keys)}:{','.join(str(places[key]) for key in keys)}")


def made_code(keys: Iterable[tuple[bytes, Hashable]]) -> int:
    """Return the category of all calls, whatever their order, from digests of their arguments and names."""
    return code("\n".join(sorted(f"{arguments.hex()} {name}" for arguments, name in keys)))


def _texts(request: Mapping[str, Any]) -> str:
    """Return the texts of a request's messages."""
    messages = request.get("messages")
    contents = [one.get("content") for one in messages if isinstance(one, dict)] if isinstance(messages, list) else []
    parts = [part for content in contents for part in (content if isinstance(content, list) else [content])]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))


def _values(arguments: Any, asked: str) -> tuple[list[str], tuple[Value, ...]]:
    """Return the words of free text, and all values; each with its path."""
    if isinstance(arguments, str):
        arguments = lenient_json(arguments, {"not JSON": arguments}) if arguments.strip() else {}
    free: list[str] = []
    values: list[Value] = []
    for path, value in _leaves(arguments, ""):
        is_free = isinstance(value, str) and (len(value) >= LONG or len(value.split()) >= SEVERAL)
        free += [f"{path}={word}" for word in words(value)] if is_free else []
        exact = FREE if is_free else _hash(f"{path}={_typed_text(value)}") or 1
        values.append((_hash(path), exact, _is_quoted(value, asked)))
    return free, tuple(sorted(values))


def _is_quoted(value: Any, asked: str) -> bool:
    """Return whether a value is a text that stands in the request as whole words."""
    if not isinstance(value, str) or not value or value not in asked:
        return False
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", asked) is not None


@lru_cache(maxsize=65536)
def _hash(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


def _leaves(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth < DEEPEST and isinstance(value, dict | list) and value:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(inner, f"{path}/{key}", depth + 1)
    else:
        yield path, value


def _typed_text(value: Any) -> str:
    """A value with its type; 1 and 1.0 are the same number, as in JSON Schema."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str):
        return f"string {value.strip()}"
    return f"{type(value).__name__} {value}"
