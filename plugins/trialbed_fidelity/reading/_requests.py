"""Which requests to the model a conversation explains, and which it does not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from trialbed.records import ModelCall, Record
from trialbed_fidelity.reading._bodies import body


class Requests(Record):
    """The requests of one trial.

    Attributes:
        expected: how many the scripted model's turns explain.
        seen: all that came.
        repeated: of those seen, equal to an earlier one: retries.
        aside: of the others, those that are no next step of the conversation: hidden calls.
    """

    expected: int
    seen: int
    repeated: int
    aside: int

    @property
    def beyond(self) -> int:
        """Steps of the conversation beyond the expected ones; negative where some are missing."""
        return self.seen - self.repeated - self.aside - self.expected

    @property
    def explained(self) -> bool:
        """Whether every request is one that the model's turns explain, and none is missing."""
        return self.seen == self.expected and not self.repeated and not self.aside


def explain(calls: Sequence[ModelCall], expected: int) -> Requests:
    """Sort the requests of a trial.

    The next step of a conversation is the first request that holds as many messages of the model as there were
    steps before.

    Raises:
        NotMeasured: a request cannot be read.
    """
    known: set[str] = set()
    steps = aside = repeated = 0
    for call in calls:
        request = body(call)
        text = json.dumps(request, sort_keys=True)
        if text in known:
            repeated += 1
        elif _position(request) == steps:
            steps += 1
        else:
            aside += 1
        known.add(text)
    return Requests(expected=expected, seen=len(calls), repeated=repeated, aside=aside)


def _position(request: dict[str, Any]) -> int:
    sent = request.get("messages")
    listed = sent if isinstance(sent, list) else []
    return sum(isinstance(message, dict) and message.get("role") == "assistant" for message in listed)
