"""The documents of an index: the words of each Api by place, weighted words of Apis and tools, and a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from trialbed.records import Api
from trialbed_selection.retrieval._words import Words

NAME, DESCRIPTION, DETAIL = 4, 2, 1
"""The weight of a word: in a name; in a description or a category; in parameters and in a response's keys."""

MAX_KEYS = 200
"""Keys of a response that are read."""

MAX_SENTENCE = 400
"""Characters of a description that are embedded: a model reads no more."""


class ApiWords(NamedTuple):
    """The words of an Api, by where they stand."""

    tool: list[str]
    name: list[str]
    description: list[str]
    category: list[str]
    parameters: list[str]
    response: list[str]

    @classmethod
    def of(cls, api: Api, words: Words) -> ApiWords:
        """Read an Api."""
        parameters = (*api.required_parameters, *api.optional_parameters)
        return cls(
            tool=words(api.tool_name),
            name=words(api.api_name),
            description=words(api.description),
            category=words(api.category),
            parameters=words("\n".join(f"{parameter.name}\n{parameter.description}" for parameter in parameters)),
            response=words("\n".join(islice(_keys(api.template_response), MAX_KEYS))),
        )

    def all(self) -> list[str]:
        """Return all words, each as often as its place weighs."""
        names, described = [*self.tool, *self.name], [*self.category, *self.description]
        return [*NAME * names, *DESCRIPTION * described, *DETAIL * self.parameters, *DETAIL * self.response]


def _tool_words(of_apis: Sequence[Sequence[str]], description: Sequence[str]) -> list[str]:
    """The words of a tool: those of its Apis and its description, damped, as a tool of many Apis repeats itself.

    A word that occurs n times counts ⌈log₂(n + 1)⌉ times.
    """
    counts = Counter(word for api in of_apis for word in api)
    counts.update(DESCRIPTION * list(description))
    return [word for word, count in counts.items() for _ in range(count.bit_length())]


def tool_places(apis: Sequence[Api]) -> list[int]:
    """The place of each Api's tool, in the order in which tools come."""
    tools: dict[tuple[str, str], int] = {}
    return [tools.setdefault((api.category, api.tool_name), len(tools)) for api in apis]


def tool_documents(
    apis: Sequence[Api], tool_of: Sequence[int], of_apis: Sequence[Sequence[str]], words: Words
) -> list[list[str]]:
    """The words of each tool, of which the first description that there is counts."""
    documents: list[list[Sequence[str]]] = [[] for _ in range(max(tool_of, default=-1) + 1)]
    descriptions = [""] * len(documents)
    for api, place, document in zip(apis, tool_of, of_apis, strict=True):
        documents[place].append(document)
        descriptions[place] = descriptions[place] or api.tool_description
    return [_tool_words(parts, words(text)) for parts, text in zip(documents, descriptions, strict=True)]


def sentence(api: Api) -> str:
    """An Api in one text, for a model of meanings."""
    return f"{api.tool_name}: {api.api_name}. {api.description[:MAX_SENTENCE]}".strip()


def _keys(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield from (str(key) for key in item if key != "_list_length")
            waiting.extend(reversed(item.values()))
        elif isinstance(item, list):
            waiting.extend(reversed(item))
