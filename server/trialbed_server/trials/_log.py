"""How much of a body the wire log keeps."""

from __future__ import annotations

import json

from trialbed.records import Json

BODY_LIMIT = 2**20
"""Characters kept of one body."""

TRIAL_LIMIT = 64 * 2**20
"""Characters kept of all bodies of one trial together."""


class LogBudget:
    """What one trial may still keep. A body over its share is cut in the log, never on the wire."""

    def __init__(self, *, body: int = BODY_LIMIT, trial: int = TRIAL_LIMIT) -> None:
        self._body = body
        self._left = trial

    def keep(self, text: str) -> str:
        """The text if it fits, else its beginning and a marker that says how long it was."""
        text = _utf8(text)
        room = min(self._body, self._left)
        if len(text) > room:
            text = f"{text[:room]}…[cut: {room} of {len(text)} characters kept]"
        self._left = max(0, self._left - len(text))
        return text

    def keep_value(self, value: Json) -> Json:
        """The JSON value if it fits, else the beginning of its text and the marker."""
        if isinstance(value, str):
            return self.keep(value)
        text = json.dumps(value, ensure_ascii=False)
        clean = _utf8(text)
        kept = self.keep(clean)
        if kept != clean:
            return kept
        return value if clean == text else json.loads(clean)


def _utf8(text: str) -> str:
    # Escapes in JSON can name half a character, which no record can be written with.
    return text.encode("utf-8", "replace").decode()


def body_text(body: bytes) -> str:
    """A body as text; bytes that are not UTF-8 become U+FFFD."""
    return body.decode("utf-8", "replace")
