"""Faults of the form of an answer: each changes the documents in which it is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Document = dict[str, Any]
DocumentsChange = Callable[[list[Document]], list[Document]]
"""The changed chunks of a stream; a completion that is not streamed is a list of one."""


def repeat_choices(documents: list[Document], number: int) -> list[Document]:
    """Repeat each choice this many times."""
    return [
        {**each, "choices": [{**choice, "index": index} for index in range(number) for choice in each["choices"]]}
        for each in documents
    ]


def two_choices(documents: list[Document]) -> list[Document]:
    """Send each choice twice."""
    return repeat_choices(documents, 2)


def without_choices(documents: list[Document]) -> list[Document]:
    """Send no choices."""
    return [{**each, "choices": []} for each in documents]


def null_message(documents: list[Document]) -> list[Document]:
    """Send null where the message should be."""
    return [{**each, "choices": [{**choice, _part(each): None} for choice in each["choices"]]} for each in documents]


def usage_in_choice(documents: list[Document]) -> list[Document]:
    """Send the usage in the last choice, and nowhere else."""
    *rest, last = documents
    usage = last.get("usage")
    if last["choices"]:
        rest.append({key: value for key, value in last.items() if key != "usage"})
    before = rest[-1]
    return [*rest[:-1], {**before, "choices": [{**choice, "usage": usage} for choice in before["choices"]]}]


def without_index(documents: list[Document]) -> list[Document]:
    """Send fragments of calls without their index."""
    found = _copy(documents)
    for piece in _pieces(found):
        piece.pop("index", None)
    return found


def name_fragments(documents: list[Document]) -> list[Document]:
    """Send each name of a tool in two fragments; the second half comes in a chunk of its own."""
    whole: list[Document] = []
    for each in _copy(documents):
        whole.append(each)
        for piece in _pieces([each]):
            name = piece["function"].get("name")
            if name:
                piece["function"]["name"] = name[: len(name) // 2]
                rest = {"index": piece["index"], "function": {"name": name[len(name) // 2 :]}}
                whole.append({**each, "choices": [{**each["choices"][0], "delta": {"tool_calls": [rest]}}]})
    return whole


def _part(document: Document) -> str:
    return "message" if document["object"] == "chat.completion" else "delta"


def _pieces(documents: list[Document]) -> list[Document]:
    deltas = [choice.get("delta") or {} for each in documents for choice in each["choices"]]
    return [piece for delta in deltas for piece in delta.get("tool_calls") or ()]


def _copy(documents: list[Document]) -> list[Document]:
    found: list[Document] = json.loads(json.dumps(documents))
    return found
