"""The calls of an answer, reduced to what can be compared: names, typed arguments, number and order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from trialbed_verify.panel._signatures import code, signature, words

LONG = 40
"""Characters from which a text counts as free text."""

SEVERAL = 4
"""Words from which a text counts as free text."""

DEEPEST = 40
"""Levels of nested arguments that are looked at."""


class Call(NamedTuple):
    """One call.

    Attributes:
        exact: digest of all arguments but free text, with their names and types.
        free: the words of free text, with the names of their arguments.
    """

    name: str
    exact: bytes
    free: tuple[str, ...]


def calls_of(message: Mapping[str, Any]) -> list[Call]:
    """The calls of an answer's message; the older ``function_call`` is one."""
    found = message.get("tool_calls")
    listed = [found] if isinstance(found, dict) else found if isinstance(found, list) else []
    legacy = message.get("function_call")
    if not listed and isinstance(legacy, dict):
        listed = [{"function": legacy}]
    return [_call(call) for call in listed if isinstance(call, dict)]


def tools_code(calls: Sequence[Call]) -> int:
    """The category of the tools called, whatever their number and order."""
    return code("\n".join(sorted({call.name for call in calls})))


def order_code(calls: Sequence[Call]) -> int:
    """The category of the number of calls and of their order, whichever they are."""
    keys = [(call.exact, call.name) for call in calls]
    places = {key: place for place, key in enumerate(sorted(set(keys)))}
    return code(f"{len(calls)}:{','.join(str(places[key]) for key in keys)}")


def arguments_signature(calls: Sequence[Call]) -> bytes:
    """The signature of all arguments, whatever the tools, their number and order."""
    exact = b"".join(sorted({call.exact for call in calls}))
    return signature((word for call in calls for word in call.free), exact)


def _call(call: Mapping[str, Any]) -> Call:
    function = call.get("function")
    function = function if isinstance(function, dict) else call
    exact: list[str] = []
    free: list[str] = []
    for path, value in _leaves(_arguments(function.get("arguments")), ""):
        if isinstance(value, str) and _is_free(value):
            exact.append(f"{path}=text")
            free += (f"{path}={word}" for word in words(value))
        else:
            exact.append(f"{path}={_typed(value)}")
    digest = blake2b("\n".join(sorted(exact)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return Call(str(function.get("name") or ""), digest, tuple(free))


def _arguments(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    if not given.strip():
        return {}
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return {"not JSON": given}


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


def _typed(value: Any) -> str:
    """A value with its type; 1 and 1.0 are the same number, as in JSON Schema."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str):
        return f"string {value.strip()}"
    return f"{type(value).__name__} {value}"
