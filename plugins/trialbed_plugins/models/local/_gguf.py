"""The head of a GGUF file: what its weights are of, their own template, and how much memory a context takes.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3. Only the metadata are read, and
of those only short ones: vocabularies are passed over.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from trialbed.errors import DataError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST_ENTRIES = 10_000
LONGEST_TEXT = 2**20
"""Bytes of a text; a template has some thousands."""

LARGEST_HEAD = 512 * 2**20
"""Bytes of all metadata; vocabularies have some millions."""

SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
"""Type of a value -> how it is packed."""

TEXT, ARRAY = 8, 9

CELL = 2
"""Bytes of a number in a context's cache."""


@dataclass(frozen=True)
class GgufHead:
    """What a file says of its weights."""

    values: Mapping[str, Any] = field(repr=False)

    @property
    def name(self) -> str:
        """The model's, in its makers' words; empty where they say nothing."""
        return str(self.values.get("general.name", ""))

    @property
    def template(self) -> str:
        """Its own chat template; empty where it has none."""
        return str(self.values.get("tokenizer.chat_template", ""))

    @property
    def context(self) -> int:
        """Tokens of the longest context that it was trained for; 0 where it does not say."""
        return self._number("context_length")

    def context_memory(self, tokens: int) -> int:
        """Bytes of the cache of a context, about: keys and values of each layer."""
        heads = self._number("attention.head_count")
        width = self._number("attention.key_length") or (self._number("embedding_length") // heads if heads else 0)
        shared = self._number("attention.head_count_kv") or heads
        return 2 * CELL * self._number("block_count") * shared * width * tokens

    def _number(self, name: str) -> int:
        value = self.values.get(f"{self.values.get('general.architecture')}.{name}")
        return value if isinstance(value, int) and value > 0 else 0


def read_head(path: Path) -> GgufHead:
    """Read the head of a file.

    Raises:
        DataError: it cannot be read, or is no GGUF; says why.
    """
    try:
        with path.open("rb") as file:
            return GgufHead(_Reader(file, path).values())
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


class _Reader:
    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self._path = path
        self._left = LARGEST_HEAD

    def values(self) -> dict[str, Any]:
        if self._bytes(4) != MAGIC:
            raise DataError(f"{self._path} is no GGUF file, which is what llama.cpp reads")
        version = self._scalar("<I")
        if version not in VERSIONS:
            raise DataError(f"{self._path}: is GGUF of version {version}; versions 2 and 3 are read")
        self._scalar("<Q")  # tensors
        count = self._scalar("<Q")
        if count > MOST_ENTRIES:
            raise self._error()
        found = {}
        for _ in range(count):
            name, kind = self._text(), self._scalar("<I")
            if (value := self._value(kind)) is not None:
                found[name] = value
        return found

    def _value(self, kind: int) -> Any:
        """The value; None for an array, which is passed over."""
        if kind in SCALARS:
            return self._scalar(SCALARS[kind])
        if kind == TEXT:
            return self._text()
        if kind != ARRAY:
            raise self._error()
        inner, count = self._scalar("<I"), self._scalar("<Q")
        if inner in SCALARS:
            self._skip(struct.calcsize(SCALARS[inner]) * count)
        elif inner == TEXT:
            for _ in range(count):
                self._skip(self._scalar("<Q"))
        else:
            raise self._error()
        return None

    def _scalar(self, form: str) -> Any:
        return struct.unpack(form, self._bytes(struct.calcsize(form)))[0]

    def _text(self) -> str:
        size = self._scalar("<Q")
        if size > LONGEST_TEXT:
            raise self._error()
        return self._bytes(size).decode("utf-8", "replace")

    def _bytes(self, size: int) -> bytes:
        self._spend(size)
        found = self._file.read(size)
        if len(found) < size:
            raise self._error()
        return found

    def _skip(self, size: int) -> None:
        self._spend(size)
        self._file.seek(size, 1)

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise self._error()

    def _error(self) -> DataError:
        return DataError(f"{self._path}: its metadata cannot be read; it is cut or broken")
