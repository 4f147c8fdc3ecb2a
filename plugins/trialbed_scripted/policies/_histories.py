"""Restore calls and results in conversations that frameworks write as text."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from trialbed.wire import Call, ModelMessage, lenient_json

MOST = 1000
"""Most answers with calls to remember, the latest ones. Each one slows down later requests a little."""


@dataclass
class TextHistories:
    """The conversations of a trial or of a server's clients, with the calls that were sent in them.

    Some frameworks send a call back as text of the assistant and its result as text of the user, or drop a failed call.
    A real model reads the text, but a scripted one counts calls. If a conversation begins with the complete text of an
    earlier one, the calls sent there count as made, even if no message contains them.

    If the first request of a trial contains calls, these belong to a history from the agent, which ends with its last
    answer or result. It is removed from requests that begin with it.

    Attributes:
        shared: whether the conversations belong to several clients. Two clients may ask the same
            question, one with more text. A conversation then only continues an earlier one that ended with a text.
    """

    shared: bool = False
    _given: tuple[ModelMessage, ...] | None = None
    _sent: deque[tuple[int, str, int, int]] = field(default_factory=lambda: deque(maxlen=MOST))

    def note(self, messages: Sequence[ModelMessage], calls: int) -> None:
        """Record calls that are sent in answer to a conversation."""
        own = self._without_given(messages)
        text = _text(own)
        before, first = self._earlier(text, _ends(own))
        self._sent.append((len(text), _digest(text), before + calls, first or len(text)))

    def read(self, messages: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
        """Return a conversation with the calls that were sent in it and their results.

        Conversations that contain calls or results stay unchanged.
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
        """Return the number of calls in the conversations that a text continues, and the length of the first."""
        sent = (one for one in self._sent if one[0] < len(text) and (one[0] in ends or not self.shared))
        found = [one for one in sent if _digest(text[: one[0]]) == one[1]]
        return max(((calls, first) for _, _, calls, first in found), default=(0, 0))


def _text(messages: Sequence[ModelMessage]) -> str:
    return "".join(message.text for message in messages)


def _ends(messages: Sequence[ModelMessage]) -> frozenset[int]:
    """Return the total text length after each text of a conversation."""
    return frozenset(accumulate(len(text) for message in messages for text in message.texts))


def _after(messages: Sequence[ModelMessage], length: int) -> list[ModelMessage]:
    """Return the part of a conversation after this many characters of text."""
    found, place = [], 0
    for message in messages:
        text = message.text
        if place + len(text) > length:
            found.append(ModelMessage(role=message.role, content=text[max(0, length - place) :]))
        place += len(text)
    return found


def _results(text: str) -> list[str]:
    """Return the results in a text, without the label that frameworks put before them.

    Lines are separate results if each one is JSON or an error.
    """
    head, mark, rest = text.lstrip().partition(":")
    whole = rest.lstrip() if mark and head in ("Observation", "Result", "Tool result") else text.lstrip()
    lines = [line for line in whole.splitlines() if line.strip()]
    return lines if len(lines) > 1 and all(map(_is_result, lines)) else [whole]


def _is_result(line: str) -> bool:
    return line.startswith("Error:") or isinstance(lenient_json(line), dict | list)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
