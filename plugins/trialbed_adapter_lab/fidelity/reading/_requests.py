"""The requests of a trial: their bodies and messages, and which of them the conversation explains."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from trialbed.records import Record
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.harness import ObservedRequest


class Requests(Record):
    """The requests of one trial.

    Attributes:
        expected: how many the scripted model's turns explain.
        seen: all that came.
        repeated: of those seen, equal to an earlier one: retries.
        aside: of the others, those that are not the next step of the conversation: hidden calls.
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
    def missing(self) -> int:
        """Steps that the model's turns call for, and that did not come."""
        return max(0, -self.beyond)

    @property
    def extra(self) -> int:
        """Requests that no turn of the model explains."""
        return self.repeated + self.aside + max(0, self.beyond)


def explain(requests: Sequence[ObservedRequest], expected: int) -> Requests:
    """Sort the requests of a trial.

    The next step of a conversation is the first request that holds as many messages of the model as there were
    steps before.

    Raises:
        NotMeasured: a request cannot be read.
    """
    known: set[str] = set()
    steps = aside = repeated = 0
    for request in requests:
        text = json.dumps(body(request), sort_keys=True)
        if text in known:
            repeated += 1
        elif request.roles.count("assistant") == steps:
            steps += 1
        else:
            aside += 1
        known.add(text)
    return Requests(expected=expected, seen=len(requests), repeated=repeated, aside=aside)


def body(request: ObservedRequest) -> Mapping[str, Any]:
    """Return the request's body.

    Raises:
        NotMeasured: the log does not have all of it, or it is not a JSON object.
    """
    if request.received.problem:
        raise NotMeasured(request.received.problem)
    return request.body


def messages(request: Mapping[str, Any]) -> list[Any]:
    """Return the request's messages or items, its instructions first.

    The ids of tool calls and items are numbered, since they differ from trial to trial.
    """
    numbered: list[Any] = _Numbering().of(conversation(request))
    return numbered


def conversation(request: Mapping[str, Any]) -> list[Any]:
    """Return the conversation of a request as its dialect has it, its instructions as a first message."""
    told = request.get("instructions") or request.get("system")
    said: Any = next((request[name] for name in ("messages", "input") if name in request), [])
    first = [{"role": "system", "content": told}] if told else []
    return [*first, *(said if isinstance(said, list) else [{"role": "user", "content": said}])]


IDS = frozenset(("id", "call_id", "tool_call_id", "tool_use_id"))
"""Fields that hold the id of a call, or of an item."""

ITEMS = frozenset(("message", "reasoning"))
"""Types of items whose ``id`` is no call's, though they have no ``call_id`` beside it."""


class _Numbering:
    """Replaces each id of a tool call, and each one of an item, by its number in order of appearance."""

    def __init__(self) -> None:
        # An item has both kinds in any order, so neither may count the other.
        self._calls: dict[str, str] = {}
        self._items: dict[str, str] = {}

    def of(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.of(item) for item in value]
        if isinstance(value, dict):
            return {key: self._field(key, item, value) for key, item in value.items()}
        return value

    def _field(self, key: str, value: Any, around: Mapping[str, Any]) -> Any:
        if key == "input" and around.get("type") == "tool_use":
            # Arguments of a call, whose names are the tool's.
            return value
        if key not in IDS or not isinstance(value, str):
            return self.of(value)
        if key == "id" and ("call_id" in around or around.get("type") in ITEMS):
            return self._items.setdefault(value, f"item-{len(self._items) + 1}")
        return self._calls.setdefault(value, f"call-{len(self._calls) + 1}")
