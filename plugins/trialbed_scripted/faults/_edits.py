"""Faults in the format of an answer. Each one edits the written bytes, as JSON or as the events of a stream."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

from trialbed.wire import event_bytes
from trialbed.wire.dialects import CHAT
from trialbed.wire.dialects.chat_completions import DONE_EVENT
from trialbed_scripted._scripts import EVENTS, Response

Document = dict[str, Any]
Edit = Callable[[list[Any], bool], list[Any]]
"""Returns the changed parts of an answer, given the right ones and whether it is a stream.

The parts are the documents of a stream or the single document of a body. Bytes such as ``[DONE]`` are sent unchanged.
"""


def rewrite(response: Response, edit: Edit) -> Response:
    """Parse the body of an answer, edit it, and write it again."""
    stream = response.content_type == EVENTS
    if not stream:
        written = edit([json.loads(response.body)], stream)
        return replace(response, parts=tuple(_whole(part) for part in written))
    events = [event.partition(b"data: ")[2] for event in response.body.split(b"\n\n")[:-1]]
    parts = [DONE_EVENT if data == b"[DONE]" else json.loads(data) for data in events]
    written = [_event(part) for part in edit(parts, stream)]
    if len(written) > 1 and written[-1] == DONE_EVENT:
        written[-2:] = [written[-2] + DONE_EVENT]
    return replace(response, parts=tuple(written))


def _whole(part: Any) -> bytes:
    return part if isinstance(part, bytes) else json.dumps(part).encode()


def _event(part: Any) -> bytes:
    return part if isinstance(part, bytes) else event_bytes(part, part.get("type", ""))


def documents_of(parts: list[Any]) -> list[Document]:
    """Return the parts that are documents."""
    return [part for part in parts if isinstance(part, dict)]


def choices_of(parts: list[Any]) -> Iterator[tuple[Document, str]]:
    """Yield each choice of chat completions with the name of its message field."""
    for document in documents_of(parts):
        field = "message" if document["object"] == "chat.completion" else "delta"
        yield from ((choice, field) for choice in document["choices"])


def end_with(event: bytes) -> Edit:
    """Return an edit that ends a stream with this event, in the middle."""
    return lambda parts, stream: [*parts[: len(documents_of(parts)) // 2], event] if stream else parts


def _each(change: Callable[[Document], object]) -> Edit:
    """Return an edit that changes each document in place."""

    def edit(parts: list[Any], _: bool) -> list[Any]:
        for document in documents_of(parts):
            change(document)
        return parts

    return edit


def _without_events(*types: str) -> Edit:
    return lambda parts, _: [part for part in parts if part.get("type") not in types]


def _without_fields(*names: str) -> Edit:
    return _each(lambda document: [document.pop(name, None) for name in names])


def _null_choices(parts: list[Any], _: bool) -> list[Any]:
    for choice, field in choices_of(parts):
        choice[field] = None
    return parts


def _null_content(parts: list[Any], _: bool) -> list[Any]:
    """Drop the content blocks of a stream, and set the content to null."""
    for document in parts:
        holder = document.get("message", document)
        holder |= {"content": None} if holder["type"] == "message" else {}
    return [document for document in parts if not document["type"].startswith("content_block")]


def _null_output(parts: list[Any], _: bool) -> list[Any]:
    """Drop the events of items, and set the output to null."""
    whole = [document for document in parts if "response" in document or "output" in document]
    for document in whole:
        document.get("response", document)["output"] = None
    return whole


def _two_choices(document: Document) -> None:
    document["choices"] = [{**choice, "index": index} for index in range(2) for choice in document["choices"]]


def _usage_in_choice(parts: list[Any], _: bool) -> list[Any]:
    """Move the usage into the last choice."""
    *rest, last = documents_of(parts)
    usage = last.pop("usage", None)
    rest += [last] if last["choices"] else []
    for choice in rest[-1]["choices"]:
        choice["usage"] = usage
    return [*rest, *(part for part in parts if isinstance(part, bytes))]


def _without_index(parts: list[Any], stream: bool) -> list[Any]:
    for piece in calls_of(parts) if stream else ():
        piece.pop("index", None)
    return parts


def calls_of(parts: list[Any]) -> list[Document]:
    """Return the calls of chat completions, or their pieces."""
    return [call for choice, field in choices_of(parts) for call in (choice.get(field) or {}).get("tool_calls") or ()]


def _name_fragments(parts: list[Any], stream: bool) -> list[Any]:
    """Send each tool name in two fragments, the second one in its own chunk."""
    found: list[Any] = []
    for part in parts:
        found.append(part)
        for piece in calls_of([part]) if stream else ():
            if name := piece["function"].get("name"):
                piece["function"]["name"] = name[: len(name) // 2]
                rest = {"index": piece["index"], "function": {"name": name[len(name) // 2 :]}}
                found.append({**part, "choices": [{**part["choices"][0], "delta": {"tool_calls": [rest]}}]})
    return found


ROWS: dict[str, Any] = tomllib.loads(files(__package__).joinpath("faults.toml").read_text("utf-8"))

_EDITS: dict[str, dict[str, Edit]] = {
    CHAT: {
        "name_fragments": _name_fragments,
        "no_choices": _each(lambda document: document.update(choices=[])),
        "no_done": lambda parts, _: documents_of(parts),
        "no_index": _without_index,
        "null_message": _null_choices,
        "two_choices": _each(_two_choices),
        "usage_in_choice": _usage_in_choice,
    },
    "messages": {
        "no_done": _without_events("message_stop"),
        "no_index": _without_fields("index"),
        "null_message": _null_content,
    },
    "responses": {
        "no_done": _without_events("response.completed", "response.incomplete"),
        "no_index": _without_fields("output_index", "content_index"),
        "null_message": _null_output,
    },
}

EDITS: Mapping[str, Mapping[str, Edit]] = {
    dialect: edits | {name: end_with(row["end"][dialect].encode()) for name, row in ROWS.items() if "end" in row}
    for dialect, edits in _EDITS.items()
}
"""The edits by dialect and fault. Only these dialects can have these faults."""
