"""Reads a streamed message with a strict state machine.

::

    waiting ──message_start──▶ open ──message_delta with stop_reason──▶ finished ──message_stop──▶ done
       │                        │                                          │
       └───────────── end of body, error event, malformed event: protocol error ───┘

Only a stream that is done after a stop reason is an answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from trialbed.wire._exchange import Call, Document, ModelAnswer, TextKind
from trialbed.wire.dialects._fields import mapping_of, text_of
from trialbed.wire.dialects._stream_reader import TypedStream
from trialbed.wire.dialects.messages._answers import canonical_reason, problem_of, read_answer
from trialbed.wire.dialects.messages._blocks import write_input

TEXTS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "partial_json"),
}
"""Type of a delta -> its field, and the field of the block that it adds to."""

PARTIAL = "partial_json"

KINDS: dict[str, TextKind] = {"text": "text", "thinking": "reasoning"}
"""Field of a block -> the kind of its text."""


class MessagesStreamReader(TypedStream):
    """Reads one stream from bytes that may be cut anywhere.

    Args:
        names: of the tools on offer, which need no help here: a call's name comes whole.
    """

    ENDS = frozenset(("message_stop",))

    def __init__(self, names: Collection[str] = ()) -> None:
        del names
        super().__init__(self._answer, problem_of)
        self._message: Document = {}
        self._end: Document = {}
        self._usage: Document = {}
        self._blocks: dict[int, _Block] = {}

    def _add(self, kind: str, event: Mapping[str, Any]) -> bool:
        if kind == "message_start":
            self._message = dict(mapping_of(event.get("message")))
            self._usage |= mapping_of(self._message.get("usage"))
        elif kind == "content_block_start":
            return self._begin(event)
        elif kind == "content_block_delta":
            return self._extend(event)
        elif kind == "message_delta":
            self._end |= mapping_of(event.get("delta"))
            self._usage |= {name: value for name, value in mapping_of(event.get("usage")).items() if value is not None}
            self._finished = canonical_reason(self._end.get("stop_reason")) is not None
        return False

    def _begin(self, event: Mapping[str, Any]) -> bool:
        block = _Block(mapping_of(event.get("content_block")))
        self._blocks[self._place(event, "index", len(self._blocks))] = block
        if self.pieces is not None:
            self.pieces += [(kind, text) for field, kind in KINDS.items() if (text := text_of(block.first.get(field)))]
        return bool(block.first.get("text") or block.first.get("input"))

    def _extend(self, event: Mapping[str, Any]) -> bool:
        place = self._place(event, "index", len(self._blocks) - 1)
        block = self._blocks.get(place)
        if block is None:
            self.note("call_index_wrong")
            block = self._blocks[place] = _Block({"type": "text"})
        delta = mapping_of(event.get("delta"))
        if self.pieces is not None:
            self.pieces += [(kind, text) for field, kind in KINDS.items() if (text := text_of(delta.get(field)))]
        return block.add(delta)

    def _document(self) -> Document:
        """The message as far as it came."""
        blocks = [self._blocks[place].document() for place in sorted(self._blocks)]
        content = blocks if blocks or isinstance(self._message.get("content"), list) else None
        usage = self._usage or None
        return {**self._message, "content": content, **self._end, "usage": usage}

    def _answer(self, document: Document) -> ModelAnswer:
        ordered = [self._blocks[place] for place in sorted(self._blocks)]
        written = {place: block.arguments for place, block in enumerate(ordered) if block.arguments}
        return read_answer(document, written)


class _Block:
    """A block of which the deltas are put together.

    Attributes:
        first: as it began.
    """

    def __init__(self, first: Mapping[str, Any]) -> None:
        self.first = first
        self._parts: dict[str, list[str]] = {}

    @property
    def arguments(self) -> str:
        """The text of the arguments, as its deltas have it."""
        return "".join(self._parts.get(PARTIAL, ()))

    def add(self, delta: Mapping[str, Any]) -> bool:
        """Take a delta; return whether it has a token."""
        kind = delta.get("type")
        field, goal = TEXTS.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
        text = text_of(delta.get(field))
        if text:
            self._parts.setdefault(goal, []).append(text)
        return bool(text) and kind != "signature_delta"

    def document(self) -> Document:
        """Return the block as a message has it that is not streamed; arguments that are no object stay text."""
        whole = {**self.first}
        for goal, parts in self._parts.items():
            if goal != PARTIAL:
                whole[goal] = text_of(whole.get(goal)) + "".join(parts)
        if self.arguments:
            whole["input"] = write_input(Call("", self.arguments))
        return whole


open_stream = MessagesStreamReader
