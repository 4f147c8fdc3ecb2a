"""Reads a streamed response with a strict state machine.

::

    waiting ──response.created──▶ open ──response.completed, response.incomplete──▶ done
       │                           │
       └── end of body, error event, response.failed, malformed event: protocol error

The last event holds the whole response; one that is cut is put together from its items.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from trialbed.wire._exchange import Document, TextKind
from trialbed.wire.dialects._fields import list_of, mapping_of, text_of
from trialbed.wire.dialects._stream_reader import TypedStream
from trialbed.wire.dialects.responses._answers import problem_of, read_answer
from trialbed.wire.dialects.responses._flaws import ENDS

DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.function_call_arguments.delta": "arguments",
    "response.reasoning_summary_text.delta": "thought",
    "response.reasoning_text.delta": "thought",
}
"""Type of an event -> the text of an item that it adds to."""

KINDS: dict[str, TextKind] = {"text": "text", "refusal": "refusal", "thought": "reasoning"}


class ResponsesStreamReader(TypedStream):
    """Reads one stream from bytes that may be cut anywhere.

    Args:
        names: of the tools on offer, which need no help here: a call's name comes whole.
    """

    ENDS = ENDS

    def __init__(self, names: Collection[str] = ()) -> None:
        del names
        super().__init__(read_answer, problem_of)
        self._response: Document = {}
        self._items: dict[int, _Item] = {}

    def _add(self, kind: str, event: Mapping[str, Any]) -> bool:
        if isinstance(found := event.get("response"), Mapping):
            self._response = dict(found)
        if kind == "response.failed":
            error = mapping_of(self._response.get("error"))
            self._break("error_event", f"the response has failed: {text_of(error.get('message'))}", error.get("code"))
        elif kind == "response.output_item.added":
            self._items[self._place(event, "output_index", len(self._items))] = _Item(mapping_of(event.get("item")))
        elif kind == "response.output_item.done":
            place = self._place(event, "output_index", len(self._items) - 1)
            self._items.setdefault(place, _Item({})).done = dict(mapping_of(event.get("item")))
        elif kind in DELTAS:
            return self._extend(DELTAS[kind], event)
        return False

    def _extend(self, field: str, event: Mapping[str, Any]) -> bool:
        place = self._place(event, "output_index", len(self._items) - 1)
        if place not in self._items:
            self.note("call_index_wrong")
            self._items[place] = _Item({})
        text = text_of(event.get("delta"))
        if text:
            self._items[place].texts.setdefault(field, []).append(text)
            if self.pieces is not None and field in KINDS:
                self.pieces.append((KINDS[field], text))
        return bool(text)

    def _document(self) -> Document:
        """The response as far as it came."""
        output = self._response.get("output")
        if self._items and not list_of(output):
            return {**self._response, "output": [self._items[place].document() for place in sorted(self._items)]}
        return self._response


class _Item:
    """An item that comes in pieces.

    Attributes:
        texts: those that have come, by fields, in pieces.
        done: the whole item, once it has come.
    """

    def __init__(self, first: Mapping[str, Any]) -> None:
        self.texts: dict[str, list[str]] = {}
        self.done: Document = {}
        self._first = first

    def document(self) -> Document:
        """Return the item as far as it came."""
        if self.done:
            return self.done
        said = {field: "".join(parts) for field, parts in self.texts.items()}
        item = {"type": "message", "role": "assistant", **self._first}
        if "arguments" in said:
            item |= {"type": self._first.get("type", "function_call"), "arguments": said["arguments"]}
        if "thought" in said:
            item |= {"type": "reasoning", "summary": [{"type": "summary_text", "text": said["thought"]}]}
        parts = [{"type": "output_text", "text": said["text"]}] if "text" in said else []
        parts += [{"type": "refusal", "refusal": said["refusal"]}] if "refusal" in said else []
        return {**item, "content": parts} if parts else item


open_stream = ResponsesStreamReader
