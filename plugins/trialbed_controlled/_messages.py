"""Read a model's message from any vendor's completion, in the form that goes back to the model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from zlib import crc32

from trialbed.errors import ModelFailed
from trialbed.wire.dialects.chat_completions import first_message

MAX_ERROR_TEXT = 500


def assistant_message(document: Any, problem: str = "") -> dict[str, Any]:
    """Return the text and the calls of a completion, without a vendor's read-only fields.

    A vendor's additions to a call stay. A call without an id gets one, which its result needs.

    Args:
        problem: why the document is not a completion, if known.

    Raises:
        ModelFailed: it is not a completion, or its message is empty.
    """
    message = first_message(document) if isinstance(document, dict) else {}
    try:
        calls = list(_calls(message))
        content = _clean_content(message.get("content"))
    except (LookupError, TypeError, AttributeError):
        message = {}
    if not message:
        raise ModelFailed(f"the model's endpoint did not answer with a completion: {problem or _problem(document)}")
    kept = {"role": "assistant", "content": content}
    return {**kept, "tool_calls": calls} if calls else kept


def _problem(document: Any) -> str:
    """Return the reason why a document is no completion, and its beginning as JSON without what is null."""
    if not isinstance(document, dict):
        return json.dumps(document, ensure_ascii=False, default=str)[:MAX_ERROR_TEXT]
    if document.get("choices"):
        reason = "the first choice has no message"
    else:
        reason = "the answer reports an error" if document.get("error") else "the answer has no choices"
    said = {name: value for name, value in document.items() if value is not None}
    return f"{reason}: {json.dumps(said, ensure_ascii=False, default=str)[:MAX_ERROR_TEXT]}"


def _calls(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for place, call in enumerate(message.get("tool_calls") or ()):
        name, arguments = _clean(call["function"]["name"]), _text(call["function"].get("arguments"))
        # Some endpoints number their calls; the model gets its own words back.
        id_ = _clean(call["id"]) if isinstance(call["id"], str) else call["id"]
        if id_ in ("", None):  # its result needs one
            id_ = f"call_{place}_{crc32(f'{name} {arguments}'.encode()):08x}"
        yield {"type": "function", **call, "id": id_, "function": {"name": name, "arguments": arguments}}


def _text(arguments: Any) -> str:
    """Return the text of a call's arguments; some endpoints send an object, or null."""
    if isinstance(arguments, str):
        return _clean(arguments)
    return "" if arguments is None else json.dumps(arguments)


def _clean(text: str) -> str:
    """Return the text without lone surrogates, which no request can hold.

    Raises:
        AttributeError: it is not a text.
    """
    return text.encode(errors="replace").decode()


def _clean_content(content: Any) -> str | list[Any] | None:
    if isinstance(content, list):
        parts: list[Any] = json.loads(_clean(json.dumps(content, ensure_ascii=False)))
        return parts
    return None if content is None else _clean(content)
