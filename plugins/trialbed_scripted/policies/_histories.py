"""Conversations whose framework writes calls and results as text, read as the calls and results that they are."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from trialbed.wire import Call, ModelMessage, lenient_json

MOST = 1000
"""Answers with calls that are remembered, the latest ones; each makes further requests a little slower."""


@dataclass
class TextHistories:
    """The conversations of a trial, or of a server's clients, as far as calls went out in answer to them.

    Some frameworks send a call back as a text of the assistant and its result as a text of the user, or leave a failed
    call out. A model reads that; a scripted one counts calls. A conversation that begins with all the text of an
    earlier one in which it sent calls goes on after these, even if no message has them.

    If the first request of a trial has calls, it is a history that the agent gives, up to its last answer or result.
    Requests that begin with it are read without it.

    Attributes:
        shared: whether they are of several clients. One may ask what another one asked, and more in the same text; only
            what begins after the end of a text goes on then.
    """

    shared: bool = False
    _given: tuple[ModelMessage, ...] | None = None
    _sent: deque[tuple[int, str, int, int]] = field(default_factory=lambda: deque(maxlen=MOST))

    def note(self, messages: Sequence[ModelMessage], calls: int) -> None:
        """Calls are sent in answer to a conversation."""
        own = self._without_given(messages)
        text = _text(own)
        before, first = self._earlier(text, _ends(own))
        self._sent.append((len(text), _digest(text), before + calls, first or len(text)))

    def read(self, messages: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
        """Return a conversation with the calls that it goes on after, and what came back for them.

        One that has calls or results of its own is returned as it is.
        """
        own = self._without_given(messages)
        if any(message.calls or message.role == "tool" for message in own):
            return own
        text = _text(own)
        calls, first = self._earlier(text, _ends(own))
        if not calls:
            return own
        results = [message for message in _after(own, first) if message.role != "assistant"]
        told = [ModelMessage(role="tool", content=text) for message in results for text in _results(message.text)]
        asked = ModelMessage(role="assistant", calls=tuple(Call("", "{}") for _ in range(calls)))
        return (*own, asked, *told)

    def _without_given(self, messages: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
        sent = tuple(messages)
        if self._given is None:
            ends = [place for place, message in enumerate(sent, 1) if message.role in ("assistant", "tool")]
            has_calls = any(message.calls for message in sent)
            self._given = sent[: ends[-1]] if has_calls and not self.shared else ()
        length = len(self._given)
        return sent[length:] if sent[:length] == self._given else sent

    def _earlier(self, text: str, ends: Collection[int]) -> tuple[int, int]:
        """Return how many calls went out in the conversations that a text continues, and the length of the first."""
        sent = (one for one in self._sent if one[0] < len(text) and (one[0] in ends or not self.shared))
        found = [one for one in sent if _digest(text[: one[0]]) == one[1]]
        return max(((calls, first) for _, _, calls, first in found), default=(0, 0))


def _text(messages: Sequence[ModelMessage]) -> str:
    return "".join(message.text for message in messages)


def _ends(messages: Sequence[ModelMessage]) -> frozenset[int]:
    """Return the lengths of a conversation's text at the end of each of its texts."""
    return frozenset(accumulate(len(text) for message in messages for text in message.texts))


def _after(messages: Sequence[ModelMessage], length: int) -> list[ModelMessage]:
    """Return the part of a conversation after so many characters of its text."""
    found, place = [], 0
    for message in messages:
        text = message.text
        if place + len(text) > length:
            found.append(ModelMessage(role=message.role, content=text[max(0, length - place) :]))
        place += len(text)
    return found


def _results(text: str) -> list[str]:
    """Return the results in a text without the word that frameworks put before them, which stand in lines if several.

    Lines are results of their own only where each is JSON or an error.
    """
    head, mark, rest = text.lstrip().partition(":")
    whole = rest.lstrip() if mark and head in ("Observation", "Result", "Tool result") else text.lstrip()
    lines = [line for line in whole.splitlines() if line.strip()]
    return lines if len(lines) > 1 and all(map(_is_result, lines)) else [whole]


def _is_result(line: str) -> bool:
    return line.startswith("Error:") or isinstance(lenient_json(line), dict | list)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
