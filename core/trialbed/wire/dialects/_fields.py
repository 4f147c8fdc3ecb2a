"""Values and parts of documents that several dialects have, and pairs of calls and results."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from trialbed.wire._exchange import Document, GenerationConfig, ModelMessage, ToolChoice

PIECE = 8
"""Characters of text or arguments in one event of a stream, by default."""

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
    # For a dictionary and for nothing, this takes a tenth of the time that it takes for any other mapping.
    return value if value is not None and isinstance(value, (dict, Mapping)) else {}


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
    """Return the values that can be counts of tokens."""
    found = {name: whole_number(count) for name, count in counts.items()}
    return {name: count for name, count in found.items() if count is not None and 0 <= count <= MOST_TOKENS}


def asked_beyond(settings: Mapping[str, Any], known: Collection[str]) -> tuple[str, ...]:
    """Return the names of the settings that are not known and ask for something."""
    return tuple(name for name, value in settings.items() if name not in known and value not in (None, False, {}, []))


def pieces(text: str, size: int | None) -> Iterator[str]:
    """Return a text in pieces of this size; None leaves it whole."""
    size = size or len(text) or 1
    return (text[start : start + size] for start in range(0, len(text), size))


FIRST = frozenset(("system", "developer"))
"""Roles of the messages that instruct."""


ERROR = "Error:"
"""Begins a result that another dialect marks as an error."""


def result_content(message: ModelMessage) -> Any:
    """Return the content of a message; a result that is marked as an error becomes a text that says so."""
    if message.is_error and not message.text.startswith(ERROR):
        return f"{ERROR} {message.text}"
    return message.content


def read_generation(
    document: Mapping[str, Any], fields: Mapping[str, str], forms: Collection[str] = ("json_object", "json_schema")
) -> GenerationConfig:
    """Read the settings that have the same meaning in every dialect; invalid values are skipped.

    Args:
        fields: field with the objects that contain it, such as ``text.verbosity`` -> setting. The form of the reply is
            four of them: ``form``, ``name``, ``strict`` and ``schema``.
        forms: types of the form that are read.
    """
    found: dict[str, Any] = {}
    for place, setting in fields.items():
        found[setting] = document
        for field in place.split("."):
            found[setting] = mapping_of(found[setting]).get(field)
    limit = whole_number(found.get("max_tokens"))
    return GenerationConfig(
        temperature=number(found.get("temperature")),
        seed=whole_number(found.get("seed")),
        max_tokens=limit if limit is not None and limit > 0 else None,
        stop=tuple(one for one in list_of(found.get("stop")) if isinstance(one, str) and one),
        parallel_calls=found.get("parallel_calls") is not False,
        reply_schema=mapping_of(found.get("schema")) if found.get("form") in forms else None,
        top_p=number(found.get("top_p")),
        strict_reply=found.get("strict") is True,
        effort=text_of(found.get("effort")),
        verbosity=text_of(found.get("verbosity")),
    )


OWN_WORDS = {"choices": "n"}
"""Name of a setting -> its name in the only dialect that has it."""


def write_generation(wanted: GenerationConfig, fields: Mapping[str, str], goal: str, *, tools: bool) -> Document:
    """Return settings as ``read_generation`` reads them.

    Args:
        goal: the dialect, for the message.
        tools: whether any are on offer.

    Raises:
        ValueError: a setting asks for something that the dialect does not have.
    """
    usual = GenerationConfig()
    some = [name for name in ("stop", "top_logprobs", "choices", "verbosity") if name not in fields.values()]
    if asked := [name for name in some if getattr(wanted, name) != getattr(usual, name)]:
        words = (repr(OWN_WORDS.get(name, name)) for name in asked)
        raise ValueError(f"{goal} have no counterpart of {', '.join(words)}")
    values = {name: getattr(wanted, name) for name in ("temperature", "top_p", "max_tokens")}
    values |= {name: getattr(wanted, name) or None for name in ("effort", "verbosity")}
    values["stop"] = list(wanted.stop) or None
    if tools and not wanted.parallel_calls:
        values["parallel_calls"] = False
    if wanted.reply_schema is not None:
        values["form"] = "json_schema" if wanted.reply_schema else "json_object"
    if wanted.reply_schema:
        values |= {"name": "reply", "strict": wanted.strict_reply, "schema": dict(wanted.reply_schema)}
    written: Document = {}
    for place, setting in fields.items():
        if values.get(setting) is not None:
            *outer, field = place.split(".")
            within = written
            for name in outer:
                within = within.setdefault(name, {})
            within[field] = values[setting]
    return written


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
    """Return a part in a dialect's terms.

    Args:
        goal: the dialect's own part, for the message.
        own: types of parts that stay unchanged.
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

KINDS = {bool: "a boolean", int: "an integer", float: "a number", str: "a string", list: "an array", dict: "an object"}


def find_invalid_part(content: Any, parts: Collection[str]) -> tuple[str, str]:
    """Return the place and the kind of a value in a tool's result that vendors refuse; both empty if all are valid.

    Args:
        content: a text or a list of parts; the place is empty if it is neither.
        parts: types of parts that the dialect has.
    """
    if isinstance(content, str):
        return "", ""
    if not isinstance(content, list):
        return "", KINDS.get(type(content), "null")
    for place, part in enumerate(content):
        if not isinstance(part, dict):
            return str(place), KINDS.get(type(part), "null")
        if text_of(part.get("type")) not in parts:
            return str(place), f"an object of the type {str(part.get('type'))[:SHOWN]!r}"
    return "", ""


def result_conflict(results: Iterable[tuple[str, Any]], parts: Collection[str]) -> str:
    """Return OpenAI's words for the first result of a tool that is neither a text nor a list of parts.

    Args:
        results: field -> content.
    """
    for field, content in results:
        place, kind = find_invalid_part(content, parts)
        if kind and not place:
            return f"Invalid type for '{field}': expected one of a string or array of objects, but got {kind} instead."
        if kind:
            return f"Invalid value for '{field}[{place}]': expected a content part, but got {kind} instead."
    return ""
