"""Undoes the encodings of bodies: gzip and deflate (RFC 9110, section 8.4.1)."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

PIECE = 2**18
"""Bytes that are unpacked at a time, so that a small body that unpacks to a huge one takes no memory."""

GZIP, ZLIB, RAW = 31, 15, -15

NAMES = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate", "identity": "", "": ""}
"""Name in a header -> encoding."""


class UndecodableBody(Exception):
    """A body in an encoding that was not requested, or that is not in the one it names."""


class Decoder:
    """Unpacks a body that may be cut anywhere.

    Args:
        encodings: the header's values, in the order in which they were applied.

    Attributes:
        packed: whether there is anything to undo.

    Raises:
        UndecodableBody: an encoding is not known.
    """

    def __init__(self, encodings: Iterable[str]) -> None:
        names = [name.strip() for name in ",".join(encodings).lower().split(",")]
        for name in names:
            if name not in NAMES:
                raise UndecodableBody(f"the body is encoded as {name}, which was not asked for")
        self._layers = [_Layer(NAMES[name]) for name in reversed(names) if NAMES[name]]
        self.packed = bool(self._layers)

    @property
    def is_cut(self) -> bool:
        """Return whether the bytes so far are less than the whole body."""
        return any(layer.stream is not None for layer in self._layers)

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
    """One encoding; a body in gzip may have several members, one after the other.

    Attributes:
        stream: unpacks the member that has begun and not ended; None if there is none.
        surplus: the beginning of what came after the last member.
    """

    def __init__(self, name: str) -> None:
        self.stream: zlib._Decompress | None = None
        self.surplus = b""
        self._name = name
        self._ended = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            if self.stream is None and self._ended and not (self._name == "gzip" and chunk[:1] == b"\x1f"):
                # Zeros may fill up a file in gzip.
                self.surplus = self.surplus or chunk.strip(b"\0")[:40]
                return
            stream = self.stream = self.stream or zlib.decompressobj(self._format(chunk))
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
                chunk, self.stream, self._ended = stream.unused_data, None, True

    def _format(self, chunk: bytes) -> int:
        """Return the format of a member that begins like this; some servers send deflate without its wrapping."""
        if self._name == "gzip":
            return GZIP
        return ZLIB if chunk[0] & 0x0F == zlib.DEFLATED else RAW
