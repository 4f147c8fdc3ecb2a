"""The items that conversations and answers are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trialbed.wire._exchange import Call, Document, ModelMessage
from trialbed.wire.dialects._fields import (
    FIRST,
    arguments_text,
    list_of,
    mapping_of,
    objects_of,
    result_content,
    text_of,
    write_part,
)

OWN = frozenset(("input_text", "input_image", "input_file", "output_text", "refusal"))
"""Types of parts in a message that are passed on unchanged."""

SAID = frozenset(("message", "function_call", "reasoning"))
"""Types of the items that a model writes."""


def read_items(items: Iterable[Any]) -> tuple[ModelMessage, ...]:
    """Read a conversation; items that the model wrote one after the other are one message."""
    messages: list[ModelMessage] = []
    said: list[Document] = []
    for item in items:
        if _is_said(item):
            said.append(item)
            continue
        if said:
            messages.append(read_said(said))
            said = []
        messages.append(_read_item(item))
    return (*messages, read_said(said)) if said else tuple(messages)


def read_said(items: Sequence[Mapping[str, Any]]) -> ModelMessage:
    """Read the items that a model wrote as one message."""
    parts = [part for item in items if _kind(item) == "message" for part in _parts(item.get("content"))]
    texts = [text_of(part.get("text")) for part in parts if part.get("type", "output_text") == "output_text"]
    return ModelMessage(
        content="".join(texts) if texts else None,
        calls=tuple(_read_call(item) for item in items if _kind(item) == "function_call"),
        reasoning="\n".join(text for item in items if _kind(item) == "reasoning" for text in _thoughts(item)),
        refusal="".join(text_of(part.get("refusal")) for part in parts if part.get("type") == "refusal"),
        source={"role": "assistant", "items": list(items)},
    )


def write_conversation(messages: Sequence[ModelMessage]) -> Document:
    """Return the fields of a request that hold a conversation; a system prompt at its beginning are instructions."""
    first = messages[0] if messages else None
    told = first is not None and first.role in FIRST and isinstance(first.content, str)
    fields: Document = {"instructions": first.content} if told and first is not None else {}
    rest = messages[1:] if told else messages
    return {**fields, "input": [item for place, message in enumerate(rest) for item in _write_message(message, place)]}


def _write_message(message: ModelMessage, place: int) -> Iterator[Document]:
    if message.role == "tool":
        said = result_content(message)
        output = said if isinstance(said, str) else _input_parts(said)
        yield {"type": "function_call_output", "call_id": message.call_id, "output": output}
    elif message.role == "assistant":
        items = mapping_of(message.source).get("items")
        # Thoughts go back unchanged, with their encrypted part; another dialect's thoughts would be refused.
        yield from items if isinstance(items, list) else _write_said(message, place)
    else:
        content = message.content if isinstance(message.content, str) else _input_parts(message.content)
        yield {"type": "message", "role": message.role or "user", "content": content}


def _write_said(message: ModelMessage, place: int) -> Iterator[Document]:
    parts: list[Document] = []
    if message.content is not None:
        parts.append({"type": "output_text", "text": message.text, "annotations": [], "logprobs": []})
    if message.refusal:
        parts.append({"type": "refusal", "refusal": message.refusal})
    if parts:
        yield {"type": "message", "role": "assistant", "content": parts}
    for number, call in enumerate(message.calls):
        named = {"call_id": call.id or f"call_{place}_{number}", "name": call.name, "arguments": call.arguments}
        yield {"type": "function_call", **named}


def _input_parts(content: Any) -> list[Any]:
    return [_write_part(part) for part in list_of(content)]


def _write_part(part: Any) -> Any:
    return write_part(part, "a part of responses", own=OWN, text="input_text", image=_image)


def _image(address: str) -> Document:
    return {"type": "input_image", "image_url": address, "detail": "auto"}


def _is_said(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    kind = _kind(item)
    return kind in SAID and (kind != "message" or item.get("role") == "assistant")


def _kind(item: Mapping[str, Any]) -> str:
    """Return the type of an item; messages may omit it."""
    kind = item.get("type")
    return kind if isinstance(kind, str) else "message" if "role" in item else ""


def _read_item(item: Any) -> ModelMessage:
    if not isinstance(item, Mapping):
        return ModelMessage(role="", content=item, source=item)
    kind = _kind(item)
    if kind == "message":
        return ModelMessage(role=text_of(item.get("role")), content=item.get("content"), source=item)
    if kind.endswith("_call_output"):
        return ModelMessage(role="tool", content=item.get("output"), call_id=text_of(item.get("call_id")), source=item)
    return ModelMessage(role="", content=[item], source=item)


def _read_call(item: Mapping[str, Any]) -> Call:
    arguments = arguments_text(item.get("arguments"))
    return Call(text_of(item.get("name")), arguments, text_of(item.get("call_id")), item)


def _parts(content: Any) -> list[Mapping[str, Any]]:
    return [{"type": "output_text", "text": content}] if isinstance(content, str) else list(objects_of(content))


def _thoughts(item: Mapping[str, Any]) -> list[str]:
    shown = [*objects_of(item.get("content")), *objects_of(item.get("summary"))]
    return [text for part in shown if (text := text_of(part.get("text")))]
