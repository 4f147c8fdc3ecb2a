"""Writes the events of a streamed response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from trialbed.wire._exchange import Document, ModelAnswer, ModelRequest, TextKind
from trialbed.wire.dialects._values import pieces
from trialbed.wire.dialects._written import AnswerWriter
from trialbed.wire.dialects.responses._documents import is_cut, item_identity, write_head, write_whole

EVENTS: dict[TextKind, str] = {"reasoning": "reasoning_summary_text", "text": "output_text", "refusal": "refusal"}
"""Kind of a text -> the events of its pieces."""


class ResponsesWriter(AnswerWriter):
    """Writes one response, item by item."""

    def __init__(self, head: ModelAnswer, request: ModelRequest) -> None:
        super().__init__(head)
        self._request = request
        self._number = 0
        self._items: list[Document] = []
        self._item: Document | None = None
        self._open: TextKind | None = None
        self._at: Document = {}
        self._texts: list[str] = []

    def _begin(self, kind: str) -> Iterator[Document]:
        del kind
        begun = {**write_head(self._head, self._request), "output": [], "status": "in_progress"}
        begun |= {"incomplete_details": None, "error": None, "usage": None}
        yield self._event("created", response=begun)
        yield self._event("in_progress", response=begun)

    def _part(self, kind: TextKind, texts: Iterable[str]) -> Iterator[Document]:
        if kind != self._open:
            yield from self._open_part(kind)
        name = f"{EVENTS[kind]}.delta"
        for text in texts:
            self._texts.append(text)
            yield self._event(name, **self._at, delta=text)

    def _open_part(self, kind: TextKind) -> Iterator[Document]:
        item = self._item
        goal = "reasoning" if kind == "reasoning" else "message"
        if item is not None and (item["type"] != goal or goal == "reasoning"):
            yield from self._close(cut=False)
        elif self._open is not None:
            yield from self._close_part()
        if self._item is None:
            self._item = self._new(goal)
            yield self._event("output_item.added", output_index=len(self._items), item={**self._item, _PARTS[goal]: []})
        self._open, self._texts = kind, []
        parts = self._item[_PARTS[goal]]
        place = "summary_index" if goal == "reasoning" else "content_index"
        there = {"item_id": self._item["id"], "output_index": len(self._items), place: len(parts)}
        yield self._event(f"{_part_events(kind)}.added", **there, part=_written_part(kind, ""))
        self._at = {**there, "logprobs": []} if kind == "text" else there

    def _close_part(self) -> Iterator[Document]:
        kind, text = self._open, "".join(self._texts)
        if kind is None or self._item is None:
            return
        self._open = None
        field = "refusal" if kind == "refusal" else "text"
        yield self._event(f"{EVENTS[kind]}.done", **self._at, **{field: text})
        part = _written_part(kind, text)
        self._item[_PARTS[self._item["type"]]].append(part)
        there = {name: value for name, value in self._at.items() if name != "logprobs"}
        yield self._event(f"{_part_events(kind)}.done", **there, part=part)

    def _close(self, *, cut: bool) -> Iterator[Document]:
        yield from self._close_part()
        if self._item is not None:
            item, self._item = self._item, None
            yield self._done(item, cut=cut)

    def _call(self, answer: ModelAnswer, place: int, piece: int | None, *, cut: bool) -> Iterator[Document]:
        call, identity = answer.calls[place], item_identity(answer)
        named = {"id": f"fc_{identity}{place}", "call_id": call.id or f"call_{identity}{place}", "name": call.name}
        item = {"type": "function_call", **named, "arguments": call.arguments, "status": "in_progress"}
        at = {"item_id": item["id"], "output_index": len(self._items)}
        yield self._event("output_item.added", output_index=len(self._items), item={**item, "arguments": ""})
        for part in pieces(call.arguments, piece):
            yield self._event("function_call_arguments.delta", **at, delta=part)
        yield self._event("function_call_arguments.done", **at, arguments=call.arguments)
        yield self._done(item, cut=cut)

    def _last(self, answer: ModelAnswer) -> Iterator[Document]:
        name = "incomplete" if is_cut(answer) else "completed"
        yield self._event(name, response=write_whole(answer, self._request, self._items))

    def _failure(self, message: str, kind: str, code: str | None) -> Iterator[Document]:
        error = {"code": code or kind, "message": message}
        yield {"type": "error", **error, "param": None, "sequence_number": self._number}
        self._number += 1
        head = write_head(self._head, self._request)
        yield self._event("failed", response={**head, "output": self._items, "status": "failed", "error": error})

    def _new(self, kind: str) -> Document:
        """Return an item that says nothing yet."""
        letters = "rs" if kind == "reasoning" else "msg"
        earlier = sum(item["type"] == kind for item in self._items)
        identity = f"{letters}_{item_identity(self._head)}{earlier or ''}"
        if kind == "reasoning":
            return {"type": kind, "id": identity, "summary": []}
        return {"type": kind, "id": identity, "role": "assistant", "content": [], "status": "in_progress"}

    def _done(self, item: Document, *, cut: bool) -> Document:
        if "status" in item:
            item["status"] = "incomplete" if cut else "completed"
        place = len(self._items)
        self._items.append(item)
        return self._event("output_item.done", output_index=place, item=item)

    def _event(self, kind: str, **fields: Any) -> Document:
        number = self._number
        self._number += 1
        return {"type": f"response.{kind}", **fields, "sequence_number": number}


_PARTS = {"reasoning": "summary", "message": "content"}
"""Type of an item -> the field with its parts."""


def _part_events(kind: TextKind) -> str:
    return "reasoning_summary_part" if kind == "reasoning" else "content_part"


def _written_part(kind: TextKind, text: str) -> Document:
    if kind == "refusal":
        return {"type": "refusal", "refusal": text}
    if kind == "reasoning":
        return {"type": "summary_text", "text": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
