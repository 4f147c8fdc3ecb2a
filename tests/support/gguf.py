"""Files of weights that have a head and nothing else."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

CHATML = "{% for message in messages %}<|im_start|>{{ message.content }}{% endfor %}"
WITH_TOOLS = "{{ tools }}" + CHATML
SIZES = {
    "block_count": 24,
    "context_length": 32_768,
    "embedding_length": 896,
    "attention.head_count": 14,
    "attention.head_count_kv": 2,
}


def text(value: str) -> bytes:
    """A text as GGUF has it."""
    return struct.pack("<Q", len(value.encode())) + value.encode()


def pack(value: Any) -> bytes:
    """A value with its type before it."""
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))


def write_gguf(path: Path, *, name: str = "A model", template: str = WITH_TOOLS, count: int | None = None) -> Path:
    """Write a file.

    Args:
        count: the number of entries that it says it has; None for the true one.
    """
    values: dict[str, Any] = {
        "general.architecture": "qwen2",
        "tokenizer.ggml.tokens": ["a", "b", "c" * 100],
        "general.name": name,
        **{f"qwen2.{key}": value for key, value in SIZES.items()},
    }
    if template:
        values["tokenizer.chat_template"] = template
    body = b"".join(text(key) + pack(value) for key, value in values.items())
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(values) if count is None else count) + body + b"weights")
    return path
