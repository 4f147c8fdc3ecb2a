"""What a completion says about itself: usage, finish reason and tool calls. Tolerant: what is absent is None."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from trialbed.records import SentCall, Usage


class Observation(NamedTuple):
    """What was found in one response."""

    usage: Usage | None = None
    finish_reason: str | None = None
    tool_calls: tuple[SentCall, ...] = ()


def offered_names(request: Any) -> frozenset[str]:
    """The names of the tools that a request offers."""
    tools = request.get("tools") if isinstance(request, dict) else None
    functions = (_dict(tool).get("function") for tool in _list(tools))
    return frozenset(name for function in functions if isinstance(name := _dict(function).get("name"), str))


def observe(body: bytes, offered: Collection[str], *, stream: bool) -> Observation:
    """Read a response body, a document or a stream of server-sent events."""
    documents = list(_events(body)) if stream else list(_parsed(body))
    choices = [choice for document in documents for choice in _list(document.get("choices")) if _is_first(choice)]
    reasons = [reason for choice in choices if isinstance(reason := choice.get("finish_reason"), str)]
    part = "delta" if stream else "message"
    calls = _joined(_dict(choice.get(part)).get("tool_calls") for choice in choices)
    return Observation(
        usage=_last_usage(documents),
        finish_reason=reasons[-1] if reasons else None,
        tool_calls=tuple(_sent(name, arguments, offered) for name, arguments in calls),
    )


def _events(body: bytes) -> Iterator[dict[str, Any]]:
    for line in body.splitlines():
        if line.startswith(b"data:"):
            yield from _parsed(line[len(b"data:") :])


def _parsed(text: bytes) -> Iterator[dict[str, Any]]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(document, dict):
        yield document


def _is_first(choice: Any) -> bool:
    return isinstance(choice, dict) and choice.get("index", 0) == 0


def _last_usage(documents: Iterable[Mapping[str, Any]]) -> Usage | None:
    found = None
    for document in documents:
        usage = document.get("usage")
        if isinstance(usage, dict):
            found = _usage(usage) or found
    return found


def _usage(usage: Mapping[str, Any]) -> Usage | None:
    try:
        return Usage(prompt_tokens=usage["prompt_tokens"], completion_tokens=usage["completion_tokens"])
    except (KeyError, ValidationError):
        return None


def _joined(parts: Iterable[Any]) -> list[tuple[str, str]]:
    # Pieces belong together by their index; vendors that send none send every call whole.
    calls: dict[Any, tuple[str, str]] = {}
    for piece in (piece for part in parts for piece in _list(part) if isinstance(piece, dict)):
        index = piece.get("index", ("whole", len(calls)))
        key = index if isinstance(index, int | tuple) else ("whole", len(calls))
        function = _dict(piece.get("function"))
        name, arguments = calls.get(key, ("", ""))
        calls[key] = (name + _text(function.get("name")), arguments + _text(function.get("arguments")))
    return list(calls.values())


def _sent(name: str, arguments: str, offered: Collection[str]) -> SentCall:
    return SentCall(name=name, arguments=arguments, problem=_problem(name, arguments, offered))


def _problem(name: str, arguments: str, offered: Collection[str]) -> str | None:
    if name not in offered:
        return "unknown tool"
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return "invalid json"
    return None if isinstance(value, dict) else "not an object"


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "replace").decode()
