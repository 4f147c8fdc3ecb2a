"""Masks a secret in what passes through."""

from __future__ import annotations

from trialbed.secrets import MIN_SECRET


class Redactor:
    """Masks a secret in a stream of bytes, also where it is split between two pieces; lengths stay.

    Holds back only what could be the beginning of the secret, so that nothing waits for the next piece.
    """

    def __init__(self, secret: str | None) -> None:
        self._secret = secret.encode() if secret and len(secret) >= MIN_SECRET else b""
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """Returns the bytes that can be passed on now."""
        if not self._secret:
            return piece
        data = (self._held + piece).replace(self._secret, b"*" * len(self._secret))
        kept = self._overlap(data)
        self._held = data[len(data) - kept :]
        return data[: len(data) - kept]

    def flush(self) -> bytes:
        """Returns the bytes that are left at the end."""
        held, self._held = self._held, b""
        return held

    def whole(self, data: bytes) -> bytes:
        """Mask the secret in a complete text."""
        return self.feed(data) + self.flush()

    def _overlap(self, data: bytes) -> int:
        longest = min(len(self._secret) - 1, len(data))
        return next((size for size in range(longest, 0, -1) if data.endswith(self._secret[:size])), 0)
