"""Bodies of answers that are not compressed, so that their bytes on the way are all that there are."""

from __future__ import annotations

from collections.abc import Mapping

PLAIN = {"accept-encoding": "identity"}
"""The header that asks for such a body."""


class UnusableBody(Exception):
    """A body is compressed, or too large."""


class PlainBody:
    """A body that grows piece by piece as it comes, before anything undoes its encoding.

    Args:
        headers: of the answer.
        largest: bytes that it may have.

    Raises:
        UnusableBody: it is compressed: a few bytes may stand for more than the memory holds.
    """

    def __init__(self, headers: Mapping[str, str], largest: int) -> None:
        encoding = headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity"):
            raise UnusableBody(f"the answer is compressed ({encoding!r:.40}), which was not asked for")
        self._largest = largest
        self._pieces = bytearray()

    def add(self, piece: bytes) -> None:
        """Add bytes as they came.

        Raises:
            UnusableBody: they are too many.
        """
        self._pieces += piece
        if len(self._pieces) > self._largest:
            raise UnusableBody(f"the answer is larger than {self._largest:,} bytes")

    def content(self) -> bytes:
        """Return all bytes so far."""
        return bytes(self._pieces)
