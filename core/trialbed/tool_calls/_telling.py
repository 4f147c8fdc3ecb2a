"""Compares a framework's messages with its sources: results of calls for the model, the model's answer for the user."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from trialbed.evidence import Passages, evidence_values
from trialbed.records import Json, ModelCall, WireLog
from trialbed.texts import json_leaves
from trialbed.tool_calls._uses import MAX_VALUES
from trialbed.wire import ModelRequest, recorded_answer, recorded_request
from trialbed.wire_log import failed


def last_turn(wire: WireLog) -> ModelCall | None:
    """Return the request that the model answered last; None if it answered none."""
    turns = (turn for turn in wire.model_calls if not failed(turn))
    return max(turns, key=lambda turn: turn.started + turn.duration, default=None)


def said(turn: ModelCall) -> Iterator[str]:
    """Return the model's words: its text, and the texts in the arguments of calls, such as that of ``Finish``."""
    answer = recorded_answer(turn).answer
    if answer.text:
        yield " ".join(answer.text.split())
    for call in turn.tool_calls:
        yield " ".join(call.arguments.split())


def replaced(answer: str, wire: WireLog) -> bool:
    """Return whether an answer is another text than the one with which the model ended, and no part of it."""
    last, words = last_turn(wire), " ".join(answer.split())
    if last is None or last.tool_calls:
        return False
    texts = [text for text in said(last) if text]
    return bool(texts) and not any(words and words in text for text in texts)


def was_told(wire: WireLog, arguments: Json, response: Json, started: float) -> bool | None:
    """Return whether a request that was sent after a call has something of the call's response.

    Values in the call's arguments or in the requests before it do not count.

    Returns:
        None where this cannot be seen: the response has no values to look for, there is no later request, or a request
        was not kept whole.
    """
    requests = [(turn.started > started, recorded_request(turn)) for turn in wire.model_calls]
    if not any(later for later, _ in requests) or any(request is None for _, request in requests):
        return None
    known = {text for later, request in requests if not later for text in _texts(request)}
    before, after = Passages([*known, " ".join(evidence_values(arguments))]), None
    for value in islice(evidence_values(response), MAX_VALUES):
        if not before.mention(value):
            # A conversation is sent again with each request; only its new messages are read.
            after = after or Passages(
                {text for later, request in requests if later for text in _texts(request)} - known
            )
            if after.mention(value):
                return True
    return None if after is None else False


def _texts(request: ModelRequest | None) -> Iterator[str]:
    """Yield every text in the messages of a request; of a text that is JSON, its values too."""
    for text in json_leaves([message.source for message in request.messages] if request is not None else []):
        if isinstance(text, str):
            yield text
            if text.lstrip()[:1] in ("{", "["):
                yield " ".join(evidence_values(text))
