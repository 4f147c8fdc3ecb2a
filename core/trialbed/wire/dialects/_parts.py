"""Parts of a content that several dialects have, each in its own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class NotWritable(ValueError):
    """A request, or a part of one, cannot be written in a dialect; the text says which and why."""


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


def foreign_part(part: Any, what: str) -> NotWritable:
    """Return the error of a part that has no counterpart."""
    kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
    return NotWritable(f"a part of the type {str(kind)[:100]!r} cannot be written as {what}")
