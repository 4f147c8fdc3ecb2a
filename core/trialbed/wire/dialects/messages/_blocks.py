"""Messages and the blocks that they are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from trialbed.wire._exchange import Call, Document, ModelMessage
from trialbed.wire._json import lenient_json
from trialbed.wire.dialects._fields import FIRST, arguments_text, list_of, mapping_of, objects_of, text_of, write_part

OWN = frozenset(("text", "image", "document", "search_result"))
"""Types of blocks in a user's message, or a result, that are passed on unchanged."""


def read_message(message: Any) -> Iterator[ModelMessage]:
    """Yield a message for each tool result in a message of the dialect, and one with the rest, if any."""
    if not isinstance(message, Mapping):
        yield ModelMessage(role="", content=message, source=message)
        return
    role, content = text_of(message.get("role")), message.get("content")
    if not isinstance(content, list):
        yield ModelMessage(role=role, content=content, source=message)
        return
    results = [block for block in objects_of(content) if block.get("type") == "tool_result"]
    yield from map(_read_result, results)
    rest = [block for block in content if not (isinstance(block, dict) and block.get("type") == "tool_result")]
    if role == "assistant":
        yield replace(read_blocks(rest), source=message)
    elif rest or not results:
        yield ModelMessage(role=role, content=rest, source=message)


def read_blocks(blocks: Any, written: Mapping[int, str] | None = None) -> ModelMessage:
    """Read the blocks of a model's message.

    Args:
        written: place of a call -> its arguments as the model wrote them, if a stream shows them.
    """
    found = objects_of(blocks)
    texts = [text_of(block.get("text")) for block in found if block.get("type", "text") == "text"]
    thoughts = [text_of(block.get("thinking")) for block in found if block.get("type") == "thinking"]
    exact = written or {}
    calls = [
        _read_call(block, exact.get(place)) for place, block in enumerate(found) if block.get("type") == "tool_use"
    ]
    return ModelMessage(
        content="".join(texts) if texts else None, calls=tuple(calls), reasoning="\n".join(filter(None, thoughts))
    )


def write_blocks(message: ModelMessage, number_id: str = "") -> list[Document]:
    """Return the blocks of a model's message, with its thoughts, its text and its calls.

    Args:
        number_id: the beginning of the ids of calls without an id.
    """
    blocks: list[Document] = []
    if message.reasoning:
        # The signature is the vendor's; a model behind another dialect lacks it.
        blocks.append({"type": "thinking", "thinking": message.reasoning, "signature": ""})
    if text := message.text:
        blocks.append({"type": "text", "text": text})
    blocks += [
        {"type": "tool_use", "id": call_id(call, place, number_id), "name": call.name, "input": write_input(call)}
        for place, call in enumerate(message.calls)
    ]
    return blocks


def call_id(call: Call, place: int, number_id: str = "") -> str:
    """Return the id of a call; one is made up for a call without."""
    return call.id or f"toolu_{number_id}{place}"


def write_input(call: Call) -> Any:
    """Return the arguments of a call as an object, or as their text if they are not an object."""
    found = lenient_json(call.arguments) if call.arguments.strip() else {}
    return found if isinstance(found, dict) else call.arguments


def write_messages(messages: Sequence[ModelMessage]) -> Document:
    """Return the fields of a request that hold a conversation."""
    first = 0
    while first < len(messages) and messages[first].role in FIRST:
        first += 1
    written: list[Document] = []
    for message in messages[first:]:
        if message.role == "tool":
            result = _write_result(message)
            if written and _holds_results(written[-1]):
                written[-1]["content"].append(result)
            else:
                written.append({"role": "user", "content": [result]})
        elif message.role == "user" and written and _holds_results(written[-1]):
            written[-1]["content"] += _user_blocks(message.content)
        elif message.role == "assistant":
            written.append({"role": "assistant", "content": _assistant_content(message)})
        else:
            role = "system" if message.role in FIRST else message.role or "user"
            written.append({"role": role, "content": _user_content(message.content)})
    system = _system([message.content for message in messages[:first]])
    return {**({"system": system} if system else {}), "messages": written}


def _system(contents: Sequence[Any]) -> Any:
    """Return the system prompt as a text, or as blocks if there are several."""
    if len(contents) == 1:
        return _user_content(contents[0])
    return [block for content in contents for block in _user_blocks(content)]


def _assistant_content(message: ModelMessage) -> Any:
    if isinstance(message.content, str) and not (message.calls or message.reasoning or message.refusal):
        return message.content
    # Thoughts go back unchanged, with their signatures.
    source = message.source
    if isinstance(source, Mapping) and any(
        block.get("type") in THOUGHTS for block in objects_of(source.get("content"))
    ):
        return list_of(source.get("content"))
    # The words of a refusal have no place of their own here.
    return write_blocks(replace(message, content=message.text + message.refusal))


THOUGHTS = frozenset(("thinking", "redacted_thinking"))


def _user_content(content: Any) -> Any:
    return content if isinstance(content, str) else _user_blocks(content)


def _user_blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [write_part(part, "a block of messages", own=OWN, text="text", image=_image) for part in list_of(content)]


def _image(address: str) -> Document:
    kind, _, data = address.removeprefix("data:").partition(";base64,")
    inline = address.startswith("data:") and data
    source = {"type": "base64", "media_type": kind, "data": data} if inline else {"type": "url", "url": address}
    return {"type": "image", "source": source}


def _read_result(block: Mapping[str, Any]) -> ModelMessage:
    return ModelMessage(
        role="tool",
        content=block.get("content", ""),
        call_id=text_of(block.get("tool_use_id")),
        is_error=block.get("is_error") is True,
        source=block,
    )


def _write_result(message: ModelMessage) -> Document:
    result: Document = {"type": "tool_result", "tool_use_id": message.call_id}
    result["content"] = _user_content(message.content) if message.content is not None else ""
    return {**result, "is_error": True} if message.is_error else result


def _holds_results(message: Mapping[str, Any]) -> bool:
    """Return whether a message that is being written holds results."""
    blocks = list_of(message.get("content"))
    return bool(blocks) and mapping_of(blocks[0]).get("type") == "tool_result"


def _read_call(block: Mapping[str, Any], exact: str | None) -> Call:
    arguments = arguments_text(block.get("input"), "{}") if exact is None else exact
    return Call(text_of(block.get("name")), arguments, text_of(block.get("id")), block)
