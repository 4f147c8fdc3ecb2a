"""Server-sent events (WHATWG HTML, section 9.2), byte by byte as they come."""

from __future__ import annotations

from typing import NamedTuple


class Event(NamedTuple):
    """One event: its name, empty where it has none, and its data."""

    name: str
    data: bytes


class EventReader:
    """Takes chunks as they arrive and gives whole events."""

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that this chunk completes."""
        text = self._rest + chunk
        # A lone CR at the end may be half of a CRLF.
        held = 1 if text.endswith(b"\r") else 0
        lines = text[: len(text) - held].splitlines(keepends=True)
        self._rest = text[len(text) - held :]
        if lines and not lines[-1].endswith((b"\n", b"\r")):
            self._rest = lines.pop() + self._rest
        return [event for line in lines if (event := self._line(line.rstrip(b"\r\n"))) is not None]

    def end(self) -> list[Event]:
        """What is left when the stream has ended: an event whose closing blank line never came."""
        rest, self._rest = self._rest, b""
        events = [self._line(rest.rstrip(b"\r\n")), self._dispatch()]
        return [event for event in events if event is not None]

    def _line(self, line: bytes) -> Event | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        return None

    def _dispatch(self) -> Event | None:
        name, data = self._name, self._data
        self._name, self._data = "", []
        return Event(name, b"\n".join(data)) if data else None
