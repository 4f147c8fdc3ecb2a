"""Tool names, as the trial has them and as CrewAI has them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from crewai.utilities.string_utils import sanitize_tool_name


class ToolNames:
    """Gives every tool a name that CrewAI does not change.

    CrewAI writes tool names in lower case with single underscores, which makes one name of several and nothing of
    some. Names are translated on the way to it and back.

    Args:
        names: of the tools, as the model knows them.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._inner: dict[str, str] = {}
        self._outer: dict[str, str] = {}
        self._unknown = itertools.count(1)
        for name in names:
            inner = self._free(name)
            self._inner[name] = inner
            self._outer[inner] = name

    def inner(self, name: str) -> str:
        """CrewAI's name of a tool; for an unknown tool, a name that CrewAI does not know either.

        That name is new each time: CrewAI ends a run at the fifth identical call.
        """
        return self._inner.get(name) or self._free(f"unknown_{next(self._unknown)}")

    def outer(self, name: str) -> str | None:
        """The original name of the tool that CrewAI knows by this name; None if there is none."""
        return self._outer.get(name)

    def _free(self, name: str) -> str:
        plain = free = sanitize_tool_name(name) or "tool"
        number = 1
        while free in self._outer:
            number += 1
            free = sanitize_tool_name(f"{plain}_{number}")
        return free
