"""Filling a response skeleton: a JSON value whose leaves name types."""

from __future__ import annotations

import json
import re
from typing import Any

from trialbed_server.simulators._values import Values

MAX_ITEMS = 3
"""Longest list made, whatever length the skeleton states: an answer has to fit a model's context."""

MAX_LEAVES = 200
"""After so many leaves every list has one item."""

LENGTH = "_list_length"
_LIST = re.compile(r"list of (\w+) with length (\d+)")


class Filler:
    """Fills one skeleton.

    Attributes:
        distinctive: whether a leaf was made that an answer can be held to.
    """

    def __init__(self, values: Values) -> None:
        self.distinctive = False
        self._values = values
        self._leaves = 0

    def fill(self, skeleton: Any, label: str = "value") -> Any:
        """The value that this skeleton stands for; ``label`` is the nearest key above it."""
        if isinstance(skeleton, dict):
            return {key: self.fill(item, key) for key, item in skeleton.items() if key != LENGTH}
        if isinstance(skeleton, list):
            return self._list(skeleton, label)
        self._leaves += 1
        return self._leaf(skeleton, label) if isinstance(skeleton, str) else skeleton

    def _list(self, skeleton: list[Any], label: str) -> list[Any]:
        if len(skeleton) != 1:
            return [self.fill(item, label) for item in skeleton]
        (item,) = skeleton
        if isinstance(item, str) and (match := _LIST.fullmatch(item)):
            return self._repeat(match[1], int(match[2]), label)
        length = item.get(LENGTH, 1) if isinstance(item, dict) else 1
        return self._repeat(item, length if isinstance(length, int) else 1, label)

    def _repeat(self, item: Any, length: int, label: str) -> list[Any]:
        most = MAX_ITEMS if self._leaves < MAX_LEAVES else 1
        return [self.fill(item, label) for _ in range(min(length, most))]

    def _leaf(self, word: str, label: str) -> Any:
        match word:
            case "int":
                self.distinctive = True
                return self._values.integer()
            case "float":
                self.distinctive = True
                return self._values.decimal()
            case "bool":
                return self._values.boolean()
            case "NoneType":
                return None
            case "list" | "empty list":
                return []
            case "dict" | "empty dict":
                return {}
        if match := _LIST.fullmatch(word):
            return self._repeat(match[1], int(match[2]), label)
        self.distinctive = True
        return self._values.text(label)


def parsed_skeleton(template: Any) -> Any:
    """The skeleton of a ``template_response``: a text may hold one as JSON, other texts are none (None)."""
    if not isinstance(template, str):
        return template
    try:
        parsed = json.loads(template)
    except (ValueError, RecursionError):
        return template if _LIST.fullmatch(template) else None
    return parsed if isinstance(parsed, dict | list) else None
