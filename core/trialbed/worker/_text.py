"""Text that can be written as JSON."""

from __future__ import annotations

from typing import Any


def clean_text(text: str) -> str:
    """The text with ``?`` for each lone surrogate, which no JSON text can carry; models cut emoji in half."""
    return text.encode(errors="replace").decode()


def clean_texts(value: Any) -> Any:
    """The JSON value with every text in it clean, keys too."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_texts(key): clean_texts(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean_texts(item) for item in value]
    return value
