"""Parts of requests that several dialects have, each in its own words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from trialbed.wire._exchange import Document, GenerationConfig, ModelMessage, ToolChoice
from trialbed.wire.dialects._values import mapping_of, text_of

FIRST = frozenset(("system", "developer"))
"""Roles of the messages that instruct."""


ERROR = "Error:"
"""Begins a result that another dialect marks as an error."""


class NotWritable(ValueError):
    """A request, or a part of one, cannot be written in a dialect; the text says which and why."""


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
        NotWritable: one of them asks for something.
    """
    usual = GenerationConfig()
    asked = [name for name in names if getattr(wanted, name) != getattr(usual, name)]
    if asked:
        raise NotWritable(
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
        NotWritable: the dialect has no such part.
    """
    found = mapping_of(part)
    if text_of(found.get("type")) in own:
        return part
    if isinstance(said := found.get("text"), str):
        return {"type": text, "text": said}
    address = image_of(found)
    if address is None:
        kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
        raise NotWritable(f"a part of the type {str(kind)[:100]!r} cannot be written as {goal}")
    return image(address)


def allowed_choice(allowed: Mapping[str, Any], tools: Iterable[Any]) -> ToolChoice:
    """Return the choice among the tools that a request allows of those on offer: a single one is chosen by name."""
    names = tuple(dict.fromkeys(filter(None, map(text_of, tools))))
    mode = "required" if allowed.get("mode") == "required" else "auto"
    return ToolChoice(mode, names[0] if mode == "required" and len(names) == 1 else "", names)
