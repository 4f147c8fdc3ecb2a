"""Undoes the encodings of bodies: gzip and deflate (RFC 9110, section 8.4.1)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import chain

PIECE = 2**18
"""Bytes that are unpacked at a time, so that a small body that unpacks to a huge one takes no memory."""

GZIP, ZLIB, RAW = 31, 15, -15
"""Formats, as zlib has them."""

METHOD = 0x0F
DEFLATE = 8

NAMES = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate", "identity": "", "": ""}
"""Name in a header -> encoding."""


class UndecodableBody(Exception):
    """A body in an encoding that was not requested, or that is not in the one it names."""


class Decoder:
    """Unpacks a body that may be cut anywhere.

    Args:
        encodings: the header's value, in the order in which they were applied.

    Raises:
        UndecodableBody: an encoding is not known.
    """

    def __init__(self, encodings: str) -> None:
        names = [name.strip() for name in encodings.lower().split(",")]
        for name in names:
            if name not in NAMES:
                raise UndecodableBody(f"the body is encoded as {name}, which was not asked for")
        self._layers = [_Layer(NAMES[name]) for name in reversed(names) if NAMES[name]]

    @property
    def packed(self) -> bool:
        """Return whether there is anything to undo."""
        return bool(self._layers)

    @property
    def is_cut(self) -> bool:
        """Return whether the bytes so far are less than the whole body."""
        return any(layer.is_open for layer in self._layers)

    @property
    def surplus(self) -> bytes:
        """The beginning of what came after the packed body; empty if nothing did."""
        return next((layer.surplus for layer in self._layers if layer.surplus), b"")

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The body's next parts.

        Raises:
            UndecodableBody: it is not in the encoding that it names.
        """
        parts = iter((chunk,))
        for layer in self._layers:
            parts = chain.from_iterable(map(layer.feed, parts))
        return parts


class _Layer:
    """One encoding; a body in gzip may have several members, one after the other."""

    def __init__(self, name: str) -> None:
        self.surplus = b""
        self._name = name
        self._stream: zlib._Decompress | None = None
        self._ended = False

    @property
    def is_open(self) -> bool:
        """Return whether a packed part has begun and not ended."""
        return self._stream is not None

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            if self._stream is None and not self._begins(chunk):
                return
            stream = self._stream
            assert stream is not None  # noqa: S101 - it has just begun
            more = True
            while more:
                try:
                    part = stream.decompress(chunk, PIECE)
                except zlib.error as error:
                    raise UndecodableBody(f"the body is not in {self._name}: {error}") from error
                chunk = stream.unconsumed_tail
                # What fills a piece may have left more behind.
                more = not stream.eof and (bool(chunk) or len(part) == PIECE)
                if part:
                    yield part
            if stream.eof:
                chunk, self._stream, self._ended = stream.unused_data, None, True

    def _begins(self, chunk: bytes) -> bool:
        """Begin a member with these bytes; after the last one they are surplus."""
        if self._ended and not (self._name == "gzip" and chunk[:1] == b"\x1f"):
            # Zeros may fill up a file in gzip.
            self.surplus = self.surplus or chunk.strip(b"\0")[:40]
            return False
        wrapped = self._name == "gzip" or chunk[0] & METHOD == DEFLATE
        self._stream = zlib.decompressobj(GZIP if self._name == "gzip" else ZLIB if wrapped else RAW)
        return True
