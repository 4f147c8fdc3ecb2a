"""Ways in which vendors break the protocol of chat completions: each changes a right answer."""

from __future__ import annotations

import json

from trialbed.wire._exchange import Document
from trialbed.wire.dialects._flaws import Flaws, end_with

DONE_EVENT = b"data: [DONE]\n\n"
"""The event that ends a stream."""

MALFORMED_EVENT = b'data: {"choices": [{"delta"\n\n'
ERROR_EVENT = b'data: {"error":{"message":"the model failed","type":"server_error","param":null,"code":"500"}}\n\n'


def repeat_choices(documents: list[Document], number: int) -> list[Document]:
    """Repeat each choice this many times."""
    return [
        {**each, "choices": [{**choice, "index": index} for index in range(number) for choice in each["choices"]]}
        for each in documents
    ]


def _null_message(documents: list[Document]) -> list[Document]:
    return [{**each, "choices": [{**choice, _part(each): None} for choice in each["choices"]]} for each in documents]


def _usage_in_choice(documents: list[Document]) -> list[Document]:
    """Send the usage in the last choice, and nowhere else."""
    *rest, last = documents
    usage = last.get("usage")
    if last["choices"]:
        rest.append({key: value for key, value in last.items() if key != "usage"})
    before = rest[-1]
    return [*rest[:-1], {**before, "choices": [{**choice, "usage": usage} for choice in before["choices"]]}]


def _without_index(documents: list[Document]) -> list[Document]:
    found = _copy(documents)
    for piece in _pieces(found):
        piece.pop("index", None)
    return found


def _name_fragments(documents: list[Document]) -> list[Document]:
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


OWN_FLAWS = Flaws(
    "chat completions",
    {
        "name_fragments": _name_fragments,
        "no_choices": lambda documents: [{**each, "choices": []} for each in documents],
        "no_index": _without_index,
        "null_message": _null_message,
        "two_choices": lambda documents: repeat_choices(documents, 2),
        "usage_in_choice": _usage_in_choice,
    },
    {
        "error_event": end_with(ERROR_EVENT + DONE_EVENT),
        "malformed_event": end_with(MALFORMED_EVENT + DONE_EVENT),
        "no_done": lambda parts: (*parts[:-1], parts[-1].removesuffix(DONE_EVENT)),
    },
)
FLAWS = OWN_FLAWS.names
