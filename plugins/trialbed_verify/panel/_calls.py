"""Digests of an answer's calls, which can be compared: names, typed arguments, number and order."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from struct import Struct
from typing import Any, NamedTuple
from zlib import crc32

from trialbed.wire import lenient_json
from trialbed_verify.panel._signatures import code, signature, words

LONG = 40
"""Characters from which a text counts as free text."""

SEVERAL = 4
"""Words from which a text counts as free text."""

DEEPEST = 40
"""Levels of nested arguments that are looked at."""

HEAD = Struct("<IH")
"""The head of a call among packed values: the hash of its name, and the number of its values."""

VALUE = Struct("<IIB")
"""A packed value: the hashes of its path and of itself, 0 for free text; and whether it stands in the request."""

Value = tuple[int, int, int]

MOST_VALUES = 0xFFFF
"""Values of a call that are packed."""

FREE = 0


class CallDigest(NamedTuple):
    """One call.

    Attributes:
        exact: digest of all arguments but free text, with their names and types.
        free: the words of free text, with the names of their arguments.
        values: what ``VALUE`` packs of each argument.
    """

    name: str
    exact: bytes
    free: tuple[str, ...]
    values: tuple[Value, ...] = ()


def calls_of(message: Mapping[str, Any], request: Mapping[str, Any]) -> list[CallDigest]:
    """Return the calls of an answer's message to a request; the older ``function_call`` is one."""
    found = message.get("tool_calls")
    listed = [found] if isinstance(found, dict) else found if isinstance(found, list) else []
    legacy = message.get("function_call")
    if not listed and isinstance(legacy, dict):
        listed = [{"function": legacy}]
    asked = _texts(request) if listed else ""
    return [_call(call, asked) for call in listed if isinstance(call, dict)]


def call_measures(calls: Sequence[CallDigest]) -> dict[str, Any]:
    """Return the measures of calls, by the attributes of ``Measures``."""
    free = [word for call in calls for word in call.free]
    keys = [(call.exact, call.name) for call in calls]
    return {
        "tools": code("\n".join(sorted({call.name for call in calls}))),
        "order": order_of(keys),
        "made": made_code(keys),
        "arguments": signature(free, b"".join(sorted({call.exact for call in calls}))),
        "values": _packed(calls),
        "free": signature(free) if free else None,
    }


def order_of(keys: Sequence[Hashable]) -> int:
    """Return the category of a number of calls and of their order, from keys that are equal for equal calls."""
    places = {key: place for place, key in enumerate(sorted(set(keys)))}  # type: ignore[type-var] # all are of a kind
    return code(f"{len(keys)}:{','.join(str(places[key]) for key in keys)}")


def made_code(keys: Iterable[tuple[bytes, Hashable]]) -> int:
    """Return the category of all calls, whatever their order, from digests of their arguments and names."""
    return code("\n".join(sorted(f"{arguments.hex()} {name}" for arguments, name in keys)))


def _packed(calls: Sequence[CallDigest]) -> bytes:
    """Return the name and the values of each call in a few bytes, for the comparison with other trials of the case."""
    heads = [HEAD.pack(_hash(call.name), len(call.values[:MOST_VALUES])) for call in calls]
    values = [[VALUE.pack(*value) for value in call.values[:MOST_VALUES]] for call in calls]
    return b"".join(part for head, own in zip(heads, values, strict=True) for part in (head, *own))


def unpacked_values(packed: bytes) -> list[tuple[int, list[Value]]]:
    """Return the hash of each call's name with its values."""
    found, rest = [], packed
    while rest:
        name, count = HEAD.unpack_from(rest)
        end = HEAD.size + count * VALUE.size
        found.append((name, list(VALUE.iter_unpack(rest[HEAD.size : end]))))
        rest = rest[end:]
    return found


def _texts(request: Mapping[str, Any]) -> str:
    """Return the texts of a request's messages."""
    messages = request.get("messages")
    contents = [one.get("content") for one in messages if isinstance(one, dict)] if isinstance(messages, list) else []
    parts = [part for content in contents for part in (content if isinstance(content, list) else [content])]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))


def _is_quoted(value: Any, asked: str) -> bool:
    """Return whether a value is a text that stands in the request as whole words."""
    if not isinstance(value, str) or not value or value not in asked:
        return False
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", asked) is not None


def _call(call: Mapping[str, Any], asked: str) -> CallDigest:
    function = call.get("function")
    function = function if isinstance(function, dict) else call
    exact: list[str] = []
    free: list[str] = []
    values: list[Value] = []
    for path, value in _leaves(_arguments(function.get("arguments")), ""):
        if isinstance(value, str) and _is_free(value):
            exact.append(f"{path}=text")
            free += (f"{path}={word}" for word in words(value))
            values.append((_hash(path), FREE, _is_quoted(value, asked)))
        else:
            exact.append(f"{path}={_typed_text(value)}")
            values.append((_hash(path), _hash(exact[-1]) or 1, _is_quoted(value, asked)))
    digest = blake2b("\n".join(sorted(exact)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return CallDigest(str(function.get("name") or ""), digest, tuple(free), tuple(sorted(values)))


def _hash(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


def _arguments(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    if not given.strip():
        return {}
    return lenient_json(given, {"not JSON": given})


def _leaves(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth < DEEPEST and isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}/{key}", depth + 1)
    elif depth < DEEPEST and isinstance(value, list) and value:
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{path}/{number}", depth + 1)
    else:
        yield path, value


def _is_free(text: str) -> bool:
    return len(text) >= LONG or len(text.split()) >= SEVERAL


def _typed_text(value: Any) -> str:
    """A value with its type; 1 and 1.0 are the same number, as in JSON Schema."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str):
        return f"string {value.strip()}"
    return f"{type(value).__name__} {value}"
