"""The oracle: it looks at every request of every trial, whatever the trial is about.

An invariant is a function of a trial's record, which both harnesses make, so that it holds of scripted trials of this
process as of a server's log.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from trialbed.records import Usage
from trialbed.wire import ModelMessage
from trialbed_adapter_lab.harness._records import ObservedRequest, TrialRecord

SHOWN = 200
"""Characters of a value that a breach shows."""

KEPT = 20
"""Breaches of an invariant that are kept."""

SETTINGS = ("temperature", "seed", "max_tokens")

Invariant = Callable[[TrialRecord], Iterator[str]]
"""Yields each breach of a trial in words."""


def keeps_prompt(record: TrialRecord) -> Iterator[str]:
    """Every request has the system prompt, in a message of the system, and the query, in one of the user."""
    roles = ((record.spec.system_prompt, ("system", "developer")), (record.spec.query, ("user",)))
    for where, request in _requests(record):
        for text, own in roles:
            said = request.said_by(*own)
            if text not in "\n".join(said):
                yield f"{where} has no {own[0]} message with {_show(text)}, but {_show(said)}"


def keeps_tools(record: TrialRecord) -> Iterator[str]:
    """Every request offers the trial's tools, and no others than the first one."""
    first: list[str] | None = None
    for where, request in _requests(record):
        missing = [tool.name for tool in request.tools if request.offers.function(tool.name) is None]
        names = sorted(request.request.names)
        first = names if first is None else first
        if missing:
            yield f"{where} does not offer {_show(missing)}"
        elif names != first:
            yield f"{where} offers {_show(names)}, and the first one {_show(first)}"


def keeps_settings(record: TrialRecord) -> Iterator[str]:
    """Every request has the trial's model, temperature, seed and limit, as far as its dialect has them."""
    endpoint = record.spec.endpoint
    for where, request in _requests(record):
        for name in ("model", *SETTINGS):
            wanted, seen = getattr(endpoint, name), _setting(request, name)
            if wanted is not None and seen != wanted and _has(request, name):
                yield f"{where} has the {name} {_show(seen)}, not {_show(wanted)}"


def only_grows(record: TrialRecord) -> Iterator[str]:
    """Every request begins with the messages of the one before it."""
    before: list[Any] = []
    for where, request in _requests(record):
        now = [_message(message) for message in request.request.messages]
        if now[: len(before)] != before:
            pairs = enumerate(zip(before, now, strict=False))
            place = next((place for place, (old, new) in pairs if old != new), min(len(before), len(now)))
            seen = now[place] if place < len(now) else "nothing"
            yield f"{where} has as message {place + 1} {_show(seen)}, and the one before it {_show(before[place])}"
        before = now


def answers_calls(record: TrialRecord) -> Iterator[str]:
    """Every result is that of a call in the messages before it."""
    for where, request in _requests(record):
        made: set[str] = set()
        for message in request.request.messages:
            made |= {call.id for call in message.calls}
            if message.role == "tool" and message.call_id not in made:
                yield f"{where} has a result of the call {_show(message.call_id)}, which no message before it makes"


def asks_nothing_else(record: TrialRecord) -> Iterator[str]:
    """The trial sends nothing but requests to the model and calls."""
    yield from (f"{stray} was sent" for stray in record.strays if not stray.startswith("a call"))


def claims_its_calls(record: TrialRecord) -> Iterator[str]:
    """The claims of an answer are the calls that reached the Apis."""
    if record.answer is None:
        return
    names = {tool.api: tool.name for tool in record.spec.tools}
    claims = ((names.get(claim.api, "") if claim.api else claim.name, claim.arguments) for claim in record.answer.calls)
    claimed, made = _sort(claims), _sort((call.tool, call.arguments) for call in record.calls)
    if claimed != made:
        yield f"{_show(claimed)} are claimed, and {_show(made)} were made"


def claims_its_usage(record: TrialRecord) -> Iterator[str]:
    """The tokens that an answer claims, if any, are the sum of those that the model reported."""
    spent = [request.usage for request in record.requests if not request.refused]
    if record.answer is None or record.answer.usage is None or None in spent:
        return
    reported = sum(filter(None, spent), Usage())
    claimed = record.answer.usage
    for name in ("prompt_tokens", "completion_tokens"):
        if getattr(claimed, name) != getattr(reported, name):
            yield f"{getattr(claimed, name)} {name} are claimed, and {getattr(reported, name)} were reported"


INVARIANTS: tuple[Invariant, ...] = (
    keeps_prompt,
    keeps_tools,
    keeps_settings,
    only_grows,
    answers_calls,
    asks_nothing_else,
    claims_its_calls,
    claims_its_usage,
)
"""The invariants of a trial whose adapter adds and changes nothing."""


class Oracle:
    """Looks at trials, and keeps what breaks an invariant.

    Attributes:
        about: the name of the check whose trials are looked at.
        longest: the most requests of a trial so far.
    """

    def __init__(self) -> None:
        self.about = ""
        self.longest = 0
        self._breaches: dict[Invariant, list[str]] = {invariant: [] for invariant in INVARIANTS}

    def look(self, record: TrialRecord) -> None:
        """Look at a trial; of each invariant its first breach is kept."""
        self.longest = max(self.longest, len(record.requests))
        for invariant, found in self._breaches.items():
            breach = next(invariant(record), "") if len(found) < KEPT else ""
            if breach:
                found.append(f"in a trial of {self.about or 'this test'}, {breach}")

    def breaches(self, invariant: Invariant) -> tuple[str, ...]:
        """Return the breaches of an invariant so far."""
        return tuple(self._breaches[invariant])


def _requests(record: TrialRecord) -> Iterator[tuple[str, ObservedRequest]]:
    """Yield the requests that can be read, each with its place in words."""
    for request in record.requests:
        if not request.received.problem:
            yield f"request {request.number + 1} of {len(record.requests)}", request


def _setting(request: ObservedRequest, name: str) -> Any:
    return request.request.model if name == "model" else getattr(request.request.generation, name)


def _has(request: ObservedRequest, name: str) -> bool:
    """Return whether the dialect of a request has a setting; not all have seeds."""
    return name != "seed" or name in request.spoken.write_request("", (), {name: 1})


def _message(message: ModelMessage) -> list[Any]:
    calls = [[call.id, call.name, call.arguments] for call in message.calls]
    return [message.role, message.text, calls, message.call_id]


def _sort(calls: Iterable[tuple[str, Any]]) -> list[str]:
    return sorted(json.dumps(call, sort_keys=True) for call in calls)


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 50]} … {text[-40:]}"
