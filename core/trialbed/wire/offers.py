"""Finds the function of a request that stands for a trial's tool, as a model that reads them would.

Frameworks rename tools: they change case and separators, cut long names, append hashes or numbers, and put a server's
name before them. The rest of the name and the description identify the tool, as long as they fit one alone.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from trialbed.records import ToolSpec
from trialbed.texts import normalize
from trialbed.wire._exchange import OfferedTool

SHORTEST_CUT = 20
"""Characters of a name that must be left of it, so that a longer name can be recognised."""

SHORTEST_END = 4
"""Characters of a name that can stand behind a prefix."""

SHORTEST_TEXT = 20
"""Characters of a description that can stand within another."""

_SUFFIX = re.compile(r"[_-](?:\d{1,3}|[0-9a-f]{6,16})$")

Candidates = Mapping[str, Iterable[str]]


class Offers:
    """The functions that a request offers for a trial's tools.

    Args:
        tools: the trial's.
        functions: those of the request; of several with one name, the last counts.
    """

    def __init__(self, tools: Sequence[ToolSpec], functions: Iterable[OfferedTool]) -> None:
        self._descriptions = {tool.name: tool.description for tool in tools}
        self.functions = {function.name: function for function in functions}

    def function(self, tool: str) -> OfferedTool | None:
        """The function that stands for a tool; None if there is none, or several might."""
        if tool in self.functions:
            return self.functions[tool]
        name = self._matches.get(tool)
        return None if name is None else self.functions[name]

    def tool(self, function: str) -> str | None:
        """The tool that a function stands for; None if it stands for none, or for one of several."""
        if function in self._descriptions:
            return function
        return self._tools.get(function)

    def might_be(self, tool: str) -> list[str]:
        """The functions of which each might stand for a tool, where none does for certain."""
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
        tools = {tool: text for tool, text in self._descriptions.items() if tool not in self.functions}
        left = {name: offered.description for name, offered in self.functions.items() if name not in self._descriptions}
        for candidates in _STAGES:
            found = {tool: set(names) for tool, names in candidates(tools, left).items() if names}
            for tool, name in _unambiguous(found):
                matches[tool] = name
                del tools[tool], left[name]
            for tool in found.keys() & tools.keys():
                self._possible[tool] |= found[tool] & left.keys()
        return matches


def _unambiguous(found: Mapping[str, set[str]]) -> Iterator[tuple[str, str]]:
    """The pairs of which neither side has another candidate."""
    tools: dict[str, list[str]] = defaultdict(list)
    for tool, names in found.items():
        for name in names:
            tools[name].append(tool)
    for tool, names in found.items():
        (*others, name) = names
        if not others and len(tools[name]) == 1:
            yield tool, name


def plain_name(name: str) -> str:
    """A name without case, accents and separators."""
    parts = normalize("NFKD", name.casefold())
    return "".join(character for character in parts if character.isalnum())


def _same_name(tools: Mapping[str, str], functions: Mapping[str, str]) -> Candidates:
    by_name: dict[str, set[str]] = defaultdict(set)
    for name in functions:
        by_name[plain_name(name)].add(name)
    return {tool: by_name.get(plain_name(tool), set()) for tool in tools if plain_name(tool)}


def _cut_name(tools: Mapping[str, str], functions: Mapping[str, str]) -> Candidates:
    """Functions whose names are the beginning of the tool's, or all of it with a number or a hash behind."""
    plain = {tool: plain_name(tool) for tool in tools}
    cut = {name: (plain_name(name), plain_name(_SUFFIX.sub("", name))) for name in functions}

    def is_cut(tool: str, whole: str, bare: str) -> bool:
        return tool == bare or any(len(part) >= SHORTEST_CUT and tool.startswith(part) for part in (whole, bare))

    return _candidates(tools, functions, lambda tool, name: is_cut(plain[tool], *cut[name]))


def _name_behind_prefix(tools: Mapping[str, str], functions: Mapping[str, str]) -> Candidates:
    """Functions whose names end with the tool's, and with no longer one of another tool."""
    plain = {tool: plain_name(tool) for tool in tools}
    longest: dict[str, set[str]] = defaultdict(set)
    for name in functions:
        whole = plain_name(name)
        ends = [tool for tool in tools if len(plain[tool]) >= SHORTEST_END and whole.endswith(plain[tool])]
        most = max((len(plain[tool]) for tool in ends), default=0)
        for tool in ends:
            if len(plain[tool]) == most:
                longest[tool].add(name)
    return longest


def _same_description(tools: Mapping[str, str], functions: Mapping[str, str]) -> Candidates:
    by_text: dict[str, set[str]] = defaultdict(set)
    for name, text in functions.items():
        by_text[_plain_text(text)].add(name)
    texts = {tool: _plain_text(text) for tool, text in tools.items()}
    return {tool: by_text.get(text, set()) for tool, text in texts.items() if text}


def _contained_description(tools: Mapping[str, str], functions: Mapping[str, str]) -> Candidates:
    """Functions whose descriptions contain the tool's, or are the beginning of it."""
    own_texts, texts = ({name: _plain_text(text) for name, text in side.items()} for side in (tools, functions))

    def contains(tool: str, name: str) -> bool:
        own, text = own_texts[tool], texts[name]
        return min(len(own), len(text)) >= SHORTEST_TEXT and (own in text or own.startswith(text))

    return _candidates(tools, functions, contains)


def _candidates(
    tools: Mapping[str, str], functions: Mapping[str, str], fits: Callable[[str, str], bool]
) -> dict[str, set[str]]:
    return {tool: {name for name in functions if fits(tool, name)} for tool in tools}


def _plain_text(text: str) -> str:
    return " ".join(text.casefold().split())


_STAGES = (_same_name, _cut_name, _name_behind_prefix, _same_description, _contained_description)
"""From the most certain to the least; a tool that one of them matches is not given to the next."""
