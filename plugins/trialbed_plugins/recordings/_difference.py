"""Describe the first difference between two requests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from trialbed_plugins.recordings._key import CONVERSATIONS

SHOWN = 80
"""Characters of a value to show, around its difference."""

INSTRUCTIONS = ("system", "instructions")
"""Fields that some dialects have instead of the first message."""

FIRST = ("tools", *INSTRUCTIONS, *CONVERSATIONS)
"""The most informative fields for differences, before all others."""

MISSING = object()


class RequestDifference(NamedTuple):
    """A place with different values in two requests.

    Attributes:
        path: such as ``tools[2].description``.
        recorded, asked: the values, shortened; ``(none)`` if missing.
    """

    path: str
    recorded: str
    asked: str

    @property
    def text(self) -> str:
        return f"{self.path}: {self.recorded} → {self.asked}"


def differences(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[RequestDifference]:
    """Yield the differences between two canonical requests, the most informative ones first."""
    for name in [*FIRST, *sorted({*recorded, *asked} - {*FIRST})]:
        yield from _differences(recorded.get(name, MISSING), asked.get(name, MISSING), name)


def nearest(asked: Mapping[str, Any], candidates: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the recorded request that is most similar to an unrecorded one, if there are candidates.

    The longest common start of the conversation counts first, then the length, then equal tools.
    """

    def likeness(candidate: Mapping[str, Any]) -> tuple[int, int, bool]:
        own, other = _messages(asked), _messages(candidate)
        common = _common(own, other)
        return common, -abs(len(own) - len(other)), asked.get("tools") == candidate.get("tools")

    return max(candidates, key=likeness, default=None)


def _common(own: Sequence[Any], other: Sequence[Any]) -> int:
    """Return the length of the common start of two texts or lists."""
    pairs = enumerate(zip(own, other, strict=False))
    return next((place for place, (one, two) in pairs if one != two), min(len(own), len(other)))


def _messages(request: Mapping[str, Any]) -> list[Any]:
    """Return the conversation of a request in any dialect, with its instructions. A text is one message."""
    given = [request[name] for name in INSTRUCTIONS if name in request]
    for name in CONVERSATIONS:
        found = request.get(name, [])
        given += found if isinstance(found, list) else [found]
    return given


def _differences(recorded: Any, asked: Any, path: str) -> Iterator[RequestDifference]:
    if recorded is MISSING and asked is MISSING:
        return
    if isinstance(recorded, dict) and isinstance(asked, dict):
        for name in [*recorded, *(name for name in asked if name not in recorded)]:
            yield from _differences(recorded.get(name, MISSING), asked.get(name, MISSING), f"{path}.{name}")
    elif isinstance(recorded, list) and isinstance(asked, list):
        for place in range(max(len(recorded), len(asked))):
            own = [items[place] if place < len(items) else MISSING for items in (recorded, asked)]
            yield from _differences(own[0], own[1], f"{path}[{place}]")
    elif type(recorded) is not type(asked) or recorded != asked:
        yield RequestDifference(path, *_around(_show(recorded), _show(asked)))


def _show(value: Any) -> str:
    return "(none)" if value is MISSING else json.dumps(value, ensure_ascii=False)


def _around(recorded: str, asked: str) -> tuple[str, str]:
    """Cut two texts to the part with their first difference."""
    start = max(0, _common(recorded, asked) - SHOWN // 2)
    return _cut(recorded, start), _cut(asked, start)


def _cut(text: str, start: int) -> str:
    before = "…" if start else ""
    after = "…" if len(text) > start + SHOWN else ""
    return f"{before}{text[start : start + SHOWN]}{after}"
