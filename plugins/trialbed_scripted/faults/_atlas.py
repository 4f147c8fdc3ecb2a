"""The wire-fault atlas. Each public bug report in ``atlas.toml`` is a fault of chat completions."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from string import Template
from types import MappingProxyType
from typing import Any

from trialbed.wire import Call, ModelRequest, lenient_json
from trialbed_scripted._scripts import EVENTS, JSON, ModelTurn, ReceivedRequest, Response
from trialbed_scripted.faults._changes import Settings
from trialbed_scripted.faults._edits import Document, calls_of, choices_of, documents_of
from trialbed_scripted.vendor import possible_calls

Row = Mapping[str, Any]


@cache
def atlas() -> Mapping[str, Row]:
    """Return the rows of the atlas by name. The head of ``atlas.toml`` explains their keys."""
    return MappingProxyType(tomllib.loads(files(__package__).joinpath("atlas.toml").read_text("utf-8")))


def change_turn(row: Row, turn: ModelTurn, request: ModelRequest, _: Settings) -> ModelTurn:
    """Make calls in the form of the row, unless the conversation ends with a result."""
    mode, possible = request.tool_choice.mode, possible_calls(request)
    ended = mode != "required" and request.messages[-1:] and request.messages[-1].role == "tool"
    if ended or mode == "none" or not (turn.calls or possible):
        return turn
    # Some frameworks write earlier calls as text.
    own = [message for message in request.messages if message.role == "assistant"]
    named = [name for message in own for name in (message.text, *(call.name for call in message.calls))]
    further = tuple(call for call in possible if not any(call.name in name for name in named))[:1]
    calls = (turn.calls if mode != "required" else ()) or further or turn.calls or possible[:1]
    known = _words(calls[0])
    said: dict[str, Any] = {key: _fill(row[key], known) for key in ("text", "reasoning") if key in row}
    name, arguments = (_fill(row.get(key, f"${key}"), known) for key in ("name", "arguments"))
    odd = (Call(name, arguments),) * len(calls) * row.get("calls", 1)
    usage = {**(turn.usage or {}), **row["usage"]} if "usage" in row else turn.usage
    made = replace(turn, text="", calls=() if said else odd, usage=usage, finish_reason=row.get("finish", ""))
    return replace(made, **said)


def edit_parts(row: Row, parts: list[Any], stream: bool) -> list[Any]:
    """Edit an answer by the rules of the row."""
    documents = documents_of(parts)
    calls = calls_of(parts)
    written = "".join(
        call["function"]["arguments"] for call in calls if call.get("index", 0) == calls[0].get("index", 0)
    )
    known = _words(Call(calls[0]["function"]["name"], written) if calls else None)
    head = {key: value for key, value in documents[0].items() if key not in ("choices", "usage")}
    known |= {"head": json.dumps(head)[1:-1], "usage": json.dumps(documents[-1].get("usage"))}
    if stream and calls and "chunks" in row:
        chunks = [{**head, **chunk} for chunk in json.loads(_fill(row["chunks"], known))]
        counted = [document for document in documents if not document["choices"]]
        parts = [*chunks, *([] if any("usage" in chunk for chunk in chunks) else counted), *parts[len(documents) :]]
    for action in ("drop", "set", "add"):
        for path in row.get(action, ()):
            holder, key = path.split(".")
            for number, place in enumerate(_places(parts, holder)):
                if action == "drop":
                    place.pop(key, None)
                elif (action == "set") == (key in place) and (place.get(key) or "$old" not in row[action][path]):
                    filled = _fill(row[action][path], {**known, "old": place.get(key), "number": number})
                    place[key] = json.loads(filled)
    if not stream:
        return parts
    first, middle, last, after = ([_fill(row[at], known).encode() + b"\n\n"] if at in row else [] for at in LINES)
    half = len(documents_of(parts)) // 2
    return [*first, *parts[:half], *middle, *parts[half:-1], *last, parts[-1], *after]


LINES = ("first", "middle", "last", "after")


def _places(parts: list[Any], holder: str) -> Iterator[Document]:
    """Yield the objects with a name: ``chunk``, ``usage``, ``choice``, ``message``, ``call`` or ``function``."""
    if holder in ("chunk", "usage"):
        found = documents_of(parts)
        yield from found if holder == "chunk" else (document["usage"] for document in found if document.get("usage"))
    elif holder in ("choice", "message"):
        for choice, field in choices_of(parts):
            yield from filter(None, [choice if holder == "choice" else choice.get(field)])
    else:
        yield from (call if holder == "call" else call["function"] for call in calls_of(parts))


def change_response(row: Row, response: Response, request: ReceivedRequest, _: Settings) -> Response:
    """Send the row's body instead of an answer. In a stream without an error status, it is the only event."""
    if "body" not in row:
        return response
    body = _fill(row["body"], _words(next(iter(possible_calls(request.asked)), None)))
    streamed = request.asked.stream and "status" not in row
    text = f"data: {body}\n\ndata: [DONE]\n\n" if streamed else body
    sent = Response.text(text, row.get("type", EVENTS if streamed else JSON), row.get("status", 200))
    return replace(sent, headers=row.get("headers", {}))


def _words(call: Call | None) -> dict[str, Any]:
    """Return the values for templates about a call."""
    call = call or Call("lookup", "{}")
    arguments = lenient_json(call.arguments)
    key, value = next(iter((arguments if isinstance(arguments, dict) else {}).items()), ("city", "Oslo"))
    quoted = json.dumps(call.arguments)[1:-1]
    return {"name": call.name, "arguments": call.arguments, "quoted": quoted, "key": key, "value": value}


def _fill(template: str, known: Mapping[str, Any]) -> str:
    return Template(template).safe_substitute(known)
