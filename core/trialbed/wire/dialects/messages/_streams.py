"""Reads a streamed message with a strict state machine.

::

    waiting ──message_start──▶ open ──message_delta with stop_reason──▶ finished ──message_stop──▶ done
       │                        │                                          │
       └───────────── end of body, error event, malformed event: protocol error ───┘

Only a stream that is done after a stop reason is an answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from trialbed.wire._exchange import Call, Document, ModelAnswer, TextKind
from trialbed.wire.dialects._fields import mapping_of, text_of
from trialbed.wire.dialects._stream_reader import StreamPart, TypedStream
from trialbed.wire.dialects.messages._answers import canonical_reason, problem_of, read_answer
from trialbed.wire.dialects.messages._blocks import write_input

PARTIAL = "partial_json"

DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": PARTIAL,
}
"""Type of a delta -> its field, which the block has too, except for arguments."""


class MessagesStreamReader(TypedStream):
    """Reads one stream from bytes that may be cut anywhere.

    Args:
        names: of the tools on offer, which need no help here: a call's name comes whole.
    """

    ENDS = frozenset(("message_stop",))
    KINDS: Mapping[str, TextKind] = MappingProxyType({"text": "text", "thinking": "reasoning"})
    UNKNOWN: Mapping[str, str] = MappingProxyType({"type": "text"})

    def __init__(self, names: Collection[str] = ()) -> None:
        del names
        super().__init__(self._answer, problem_of)
        self._message: Document = {}
        self._end: Document = {}
        self._usage: Document = {}

    def _add(self, kind: str, event: Mapping[str, Any]) -> bool:
        if kind == "message_start":
            self._message = dict(mapping_of(event.get("message")))
            self._usage |= mapping_of(self._message.get("usage"))
        elif kind == "content_block_start":
            block = self._begin(event, mapping_of(event.get("content_block")))
            for field in DELTAS.values():
                if text := text_of(block.first.get(field)):
                    block.texts[field] = [text]
                    self._tell(field, text)
            return bool(block.first.get("text") or block.first.get("input"))
        elif kind == "content_block_delta":
            delta = mapping_of(event.get("delta"))
            field = DELTAS.get(str(delta.get("type")), "")
            return self._extend(event, field, text_of(delta.get(field))) and field != "signature"
        elif kind == "message_delta":
            self._end |= mapping_of(event.get("delta"))
            self._usage |= {name: value for name, value in mapping_of(event.get("usage")).items() if value is not None}
            self._finished = canonical_reason(self._end.get("stop_reason")) is not None
        return False

    def _document(self) -> Document:
        blocks = [_block(self._parts[place]) for place in sorted(self._parts)]
        content = blocks if blocks or isinstance(self._message.get("content"), list) else None
        usage = self._usage or None
        return {**self._message, "content": content, **self._end, "usage": usage}

    def _answer(self, document: Document) -> ModelAnswer:
        ordered = (_arguments(self._parts[place]) for place in sorted(self._parts))
        return read_answer(document, {place: arguments for place, arguments in enumerate(ordered) if arguments})


def _arguments(part: StreamPart) -> str:
    return "".join(part.texts.get(PARTIAL, ()))


def _block(part: StreamPart) -> Document:
    """Return a block in the form of a message that is not streamed; arguments that are not an object stay text."""
    texts = {field: "".join(pieces) for field, pieces in part.texts.items() if field != PARTIAL}
    whole = {**part.first, **texts}
    if arguments := _arguments(part):
        whole["input"] = write_input(Call("", arguments))
    return whole


open_stream = MessagesStreamReader
