"""Masks the endpoint's key in what passes through."""

from __future__ import annotations

from trialbed.wire.redaction import Field, Redaction, event_value, leaves, redaction_of, stars, without_pieces

NOTICED = 4
"""The fewest characters of the key for which events of a stream wait for the next; fewer are not a secret."""

KEPT = 64
"""Characters at the end of a field that are remembered, as a secret may begin in them."""

LONGEST_LINE = 2**20
"""Bytes of a line of a stream that are held until it is complete."""


class Redactor:
    """Masks a secret in one body, however it is written, also where it is split between pieces; lengths stay.

    A stream is passed on line by line, as clients read it, and an event waits only if the text that it goes on with is
    the beginning of the secret. Of another body, only the end is held back that may be the beginning of the secret.
    """

    def __init__(self, secret: str | None) -> None:
        self._redaction = redaction_of((secret,) if secret else ())
        self._stream: _Stream | None = None
        self._begun = False
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """Return the bytes that can be passed on now."""
        if not self._redaction:
            return piece
        data, self._held = self._held + piece, b""
        if not self._begun and (start := data.lstrip()):
            self._begun = True
            self._stream = None if start.startswith((b"{", b"[", b"<")) else _Stream(self._redaction)
        if self._stream is not None:
            return self._lines(data, self._stream)
        text = _text(data)
        masked = self._redaction.text(text, stars)
        kept = _bytes(masked[self._redaction.beginning(masked) :])
        self._held = kept
        return _bytes(masked)[: len(data) - len(kept)] if masked != text else data[: len(data) - len(kept)]

    def flush(self) -> bytes:
        """Return the bytes that are left at the end."""
        held, self._held = self._held, b""
        text = _text(held)
        masked = self._redaction.text(text, stars)
        rest = held if masked == text else _bytes(masked)
        return rest if self._stream is None else self._stream.flush() + rest

    def whole(self, data: bytes) -> bytes:
        """Mask the secret in a complete text or body."""
        if not self._redaction:
            return data
        text = _text(data)
        masked = self._redaction.body(text)
        return data if masked == text else _bytes(masked)

    def _lines(self, data: bytes, stream: _Stream) -> bytes:
        end = data.rfind(b"\n") + 1
        if len(data) - end > LONGEST_LINE:
            end = len(data)
        self._held = data[end:]
        return b"".join(stream.line(line) for line in data[:end].splitlines(keepends=True)) if end else b""


class _Stream:
    """The lines of a stream of events."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._waiting: list[bytes] = []
        self._passed: dict[Field, str] = {}
        self._texts: dict[Field, str] = {}

    def line(self, line: bytes) -> bytes:
        """Return the bytes that can be passed on after this line."""
        text = _text(line)
        masked = self._redaction.text(text, stars)
        self._waiting.append(line if masked == text else _bytes(masked))
        value = event_value(masked)
        if value is not None:
            for leaf in leaves(value):
                self._texts[leaf.field] = self._texts.get(leaf.field, self._passed.get(leaf.field, "")) + leaf.text
        if any(self._redaction.may_go_on(text, NOTICED) for text in self._texts.values()):
            return b""
        return self.flush()

    def flush(self) -> bytes:
        """Return what waits, masked."""
        waiting, self._waiting = self._waiting, []
        if any(self._redaction.finds(text) for text in self._texts.values()):
            lines = without_pieces(self._redaction, [_text(line) for line in waiting], self._passed)
            waiting = [_bytes(line) for line in lines]
        for field, text in self._texts.items():
            self._passed[field] = text[-KEPT:]
        self._texts.clear()
        return b"".join(waiting)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
