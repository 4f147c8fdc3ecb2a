"""Match the functions in a request to a trial's tools, as a model that reads them would.

Frameworks rename tools. They change case and separators, cut long names, append hashes or numbers, and put a server's
name before them. The rest of the name and the description identify the tool if they fit only that tool.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from trialbed.records import ToolSpec
from trialbed.texts import normalize
from trialbed.wire._exchange import OfferedTool

SHORTEST_CUT = 20
"""Characters that a cut name must have left to be recognised."""

SHORTEST_END = 4
"""Characters of a name that can stand behind a prefix."""

SHORTEST_TEXT = 20
"""Characters of a description that can stand within another."""

_SUFFIX = re.compile(r"[_-](?:\d{1,3}|[0-9a-f]{6,16})$")


class Offers:
    """The functions that a request offers for a trial's tools.

    Args:
        tools: the trial's.
        functions: the request's; of several with one name, the last counts.
    """

    def __init__(self, tools: Sequence[ToolSpec], functions: Iterable[OfferedTool]) -> None:
        self._descriptions = {tool.name: tool.description for tool in tools}
        self.functions = {function.name: function for function in functions}

    def function(self, tool: str) -> OfferedTool | None:
        """Return the function for a tool, or None if none or several match."""
        if tool in self.functions:
            return self.functions[tool]
        name = self._matches.get(tool)
        return None if name is None else self.functions[name]

    def tool(self, function: str) -> str | None:
        """Return the tool for a function, or None if none or several match."""
        if function in self._descriptions:
            return function
        return self._tools.get(function)

    def might_be(self, tool: str) -> list[str]:
        """Return the functions that may each stand for a tool, if no function does for certain."""
        return sorted(self._possible.get(tool, ()))

    @cached_property
    def _possible(self) -> dict[str, set[str]]:
        return defaultdict(set)

    @cached_property
    def _tools(self) -> dict[str, str]:
        return {function: tool for tool, function in self._matches.items()}

    @cached_property
    def _matches(self) -> dict[str, str]:
        """Tool -> function, for tools that are not offered under their own names."""
        matches: dict[str, str] = {}
        own = {name: _Named.of(name, text) for name, text in self._descriptions.items()}
        offered = {name: _Named.of(name, function.description) for name, function in self.functions.items()}
        tools, left = own.keys() - offered.keys(), offered.keys() - own.keys()
        for fits in STAGES:
            found = {tool: {name for name in left if fits(own[tool], offered[name])} for tool in tools}
            if fits is _ends:  # not with a longer name of another tool
                ends = {name: [len(own[tool].name) for tool in tools if name in found[tool]] for name in left}
                found = {tool: {one for one in found[tool] if len(own[tool].name) == max(ends[one])} for tool in tools}
            counts = Counter(chain.from_iterable(found.values()))
            # The pairs without another candidate on either side.
            matches |= {one: name for one, names in found.items() for name in names if len(names) == counts[name] == 1}
            tools, left = tools - matches.keys(), left - set(matches.values())
            for tool in tools:
                self._possible[tool] |= found[tool] & left
        return matches


def plain_name(name: str) -> str:
    """A name without case, accents and separators."""
    parts = normalize("NFKD", name.casefold())
    return "".join(character for character in parts if character.isalnum())


class _Named(NamedTuple):
    """A tool or function, with its plain name, the name without a final number or hash, and its plain description."""

    name: str
    bare: str
    text: str

    @classmethod
    def of(cls, name: str, text: str) -> _Named:
        return cls(plain_name(name), plain_name(_SUFFIX.sub("", name)), " ".join(text.casefold().split()))


def _is_same(tool: _Named, function: _Named) -> bool:
    return bool(tool.name) and tool.name == function.name


def _is_cut(tool: _Named, function: _Named) -> bool:
    """Return whether a name is the beginning of the tool's, or the whole name with a number or a hash added."""
    parts = (part for part in (function.name, function.bare) if len(part) >= SHORTEST_CUT)
    return tool.name == function.bare or tool.name.startswith(tuple(parts))


def _ends(tool: _Named, function: _Named) -> bool:
    return len(tool.name) >= SHORTEST_END and function.name.endswith(tool.name)


def _is_same_text(tool: _Named, function: _Named) -> bool:
    return bool(tool.text) and tool.text == function.text


def _contains(tool: _Named, function: _Named) -> bool:
    """Return whether a description contains the tool's, or is the beginning of it."""
    is_long = min(len(tool.text), len(function.text)) >= SHORTEST_TEXT
    return is_long and (tool.text in function.text or tool.text.startswith(function.text))


STAGES = (_is_same, _is_cut, _ends, _is_same_text, _contains)
"""From the most certain to the least. A tool that is matched at one stage is not given to the next."""
