"""Reads a streamed response with a strict state machine.

::

    waiting ──response.created──▶ open ──response.completed, response.incomplete──▶ done
       │                           │
       └── end of body, error event, response.failed, malformed event: protocol error

The last event holds the whole response. A cut response is assembled from its items.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from trialbed.wire._exchange import Document, TextKind
from trialbed.wire.dialects._fields import list_of, mapping_of, text_of
from trialbed.wire.dialects._stream_reader import StreamPart, TypedStream
from trialbed.wire.dialects.responses._answers import problem_of, read_answer

DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.function_call_arguments.delta": "arguments",
    "response.reasoning_summary_text.delta": "thought",
    "response.reasoning_text.delta": "thought",
}
"""Type of an event -> the text of an item that it adds to."""


class ResponsesStreamReader(TypedStream):
    """Reads one stream from bytes that may be cut anywhere.

    Args:
        names: of the tools on offer, which need no help here: a call's name comes whole.
    """

    ENDS = frozenset(("response.completed", "response.incomplete"))
    PLACE = "output_index"
    KINDS: Mapping[str, TextKind] = MappingProxyType({"text": "text", "refusal": "refusal", "thought": "reasoning"})

    def __init__(self, names: Collection[str] = ()) -> None:
        del names
        super().__init__(read_answer, problem_of)
        self._response: Document = {}

    def _add(self, kind: str, event: Mapping[str, Any]) -> bool:
        if isinstance(found := event.get("response"), Mapping):
            self._response = dict(found)
        item = mapping_of(event.get("item"))
        if kind == "response.failed":
            error = mapping_of(self._response.get("error"))
            self._break("error_event", f"the response has failed: {text_of(error.get('message'))}", error.get("code"))
        elif kind == "response.output_item.added":
            self._begin(event, item)
        elif kind == "response.output_item.done":
            place = self._place(event, len(self._parts) - 1)
            self._parts.setdefault(place, StreamPart({})).done = dict(item)
        elif kind in DELTAS:
            return self._extend(event, DELTAS[kind], text_of(event.get("delta")))
        return False

    def _document(self) -> Document:
        output = self._response.get("output")
        if self._parts and not list_of(output):
            return {**self._response, "output": [_item(self._parts[place]) for place in sorted(self._parts)]}
        return self._response


def _item(part: StreamPart) -> Document:
    if part.done:
        return part.done
    said = {field: "".join(pieces) for field, pieces in part.texts.items()}
    item = {"type": "message", "role": "assistant", **part.first}
    if "arguments" in said:
        item |= {"type": part.first.get("type", "function_call"), "arguments": said["arguments"]}
    if "thought" in said:
        item |= {"type": "reasoning", "summary": [{"type": "summary_text", "text": said["thought"]}]}
    parts = [{"type": "output_text", "text": said["text"]}] if "text" in said else []
    parts += [{"type": "refusal", "refusal": said["refusal"]}] if "refusal" in said else []
    return {**item, "content": parts} if parts else item


open_stream = ResponsesStreamReader
