"""Values and parts of documents that several dialects have, and pairs of calls and results."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from trialbed.wire._exchange import Document, GenerationConfig, ModelMessage, ToolChoice

PIECE = 8
"""Characters of text or arguments in one event of a stream, where nothing else is said."""

MOST_TOKENS = 10**9
"""Tokens that an answer can have; larger counts are ignored."""


def text_of(value: Any) -> str:
    """Return a text; empty for anything else."""
    return value if isinstance(value, str) else ""


def arguments_text(value: Any, missing: str = "") -> str:
    """Return the arguments of a call as text; some vendors send them as an object."""
    if isinstance(value, str):
        return value
    return missing if value is None else json.dumps(value, ensure_ascii=False)


def list_of(value: Any) -> list[Any]:
    """Return a list; empty for anything else."""
    return value if isinstance(value, list) else []


def mapping_of(value: Any) -> Mapping[str, Any]:
    """Return an object; empty for anything else."""
    return value if isinstance(value, Mapping) else {}


def objects_of(value: Any) -> list[Any]:
    """Return the objects in a list."""
    return [one for one in list_of(value) if isinstance(one, dict)]


def number(value: Any) -> float | None:
    """Return a number; None for anything else."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def whole_number(value: Any) -> int | None:
    """Return a whole number; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def counts_of(counts: Mapping[str, Any]) -> dict[str, int]:
    """Return those of the counts that can count tokens."""
    return {
        name: count
        for name, count in counts.items()
        if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_TOKENS
    }


def asked_beyond(settings: Mapping[str, Any], known: Collection[str]) -> tuple[str, ...]:
    """Return the names of the settings that are not known and ask for something."""
    return tuple(name for name, value in settings.items() if name not in known and value not in (None, False, {}, []))


def pieces(text: str, size: int | None) -> Iterator[str]:
    """Yield a text in pieces of this size; None leaves it whole."""
    if size is None:
        if text:
            yield text
        return
    yield from (text[start : start + size] for start in range(0, len(text), size))


FIRST = frozenset(("system", "developer"))
"""Roles of the messages that instruct."""


ERROR = "Error:"
"""Begins a result that another dialect marks as an error."""


def result_content(message: ModelMessage) -> Any:
    """Return the content of a message; a result that is marked as an error becomes a text that says so."""
    if message.is_error and not message.text.startswith(ERROR):
        return f"{ERROR} {message.text}"
    return message.content


def refuse_settings(wanted: GenerationConfig, goal: str, *names: str) -> None:
    """Refuse those of the settings that a dialect does not have.

    Args:
        goal: the dialect, for the message.
        names: of the settings.

    Raises:
        ValueError: one of them asks for something.
    """
    usual = GenerationConfig()
    asked = [name for name in names if getattr(wanted, name) != getattr(usual, name)]
    if asked:
        raise ValueError(
            f"{goal} have no counterpart of {', '.join(repr(OWN_WORDS.get(name, name)) for name in asked)}"
        )


OWN_WORDS = {"choices": "n"}
"""Name of a setting -> the one by which the only dialect that has it knows it."""


def image_of(part: Mapping[str, Any]) -> str | None:
    """Return the address of the image that a part of any dialect is, or the image itself as one; None for others."""
    kind, source = part.get("type"), part.get("source")
    if kind == "image" and isinstance(source, Mapping):
        if source.get("type") == "base64":
            return f"data:{source.get('media_type')};base64,{source.get('data')}"
        return source["url"] if isinstance(source.get("url"), str) else None
    if kind not in ("image_url", "input_image"):
        return None
    found = part.get("image_url")
    address = found.get("url") if isinstance(found, Mapping) else found
    return address if isinstance(address, str) else None


def write_part(part: Any, goal: str, *, own: Collection[str], text: str, image: Callable[[str], Document]) -> Any:
    """Return a part in a dialect's words.

    Args:
        goal: the dialect's own part, for the message.
        own: types of parts that stay as they are.
        text: the type of a part with a text.
        image: writes the part with the image at an address.

    Raises:
        ValueError: the dialect has no such part.
    """
    found = mapping_of(part)
    if text_of(found.get("type")) in own:
        return part
    if isinstance(said := found.get("text"), str):
        return {"type": text, "text": said}
    address = image_of(found)
    if address is None:
        kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
        raise ValueError(f"a part of the type {str(kind)[:100]!r} cannot be written as {goal}")
    return image(address)


def allowed_choice(allowed: Mapping[str, Any], tools: Iterable[Any]) -> ToolChoice:
    """Return the choice among the tools that a request allows of those on offer: a single one is chosen by name."""
    names = tuple(dict.fromkeys(filter(None, map(text_of, tools))))
    mode = "required" if allowed.get("mode") == "required" else "auto"
    return ToolChoice(mode, names[0] if mode == "required" and len(names) == 1 else "", names)


SHOWN = 100
"""Characters of an id that an error shows."""


def stray_result(messages: Sequence[ModelMessage], *, next_to_its_call: bool) -> str | None:
    """Return the id of the first result that is of no call before it; None if each has its call.

    Args:
        next_to_its_call: whether the call must be in the last message of the model.
    """
    known: set[str] = set()
    for message in messages:
        if message.role == "tool" and message.call_id not in known:
            return message.call_id[:SHOWN]
        if message.role == "assistant" and next_to_its_call:
            known.clear()
        if message.role == "assistant":
            known.update(call.id for call in message.calls)
    return None


def open_call(messages: Sequence[ModelMessage], *, at_once: bool) -> str | None:
    """Return the id of the first call that has no result; None if each has one.

    Args:
        at_once: whether the results must follow before anything else.
    """
    asked: dict[str, None] = {}
    for message in messages:
        if message.role == "tool":
            asked.pop(message.call_id, None)
        elif asked and at_once:
            break
        asked |= dict.fromkeys(call.id for call in message.calls)
    return next((made[:SHOWN] for made in asked), None)
