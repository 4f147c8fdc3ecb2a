"""Requests outside of the time for which an agent's clock ran."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from trialbed.records import ApiCall, ModelCall, Outcome, WireLog

ALLOWANCE = 0.25
"""Seconds by which a message of a worker may be late before a request counts as outside of its time."""

Opening = tuple[datetime, datetime]
"""The times just before and just after a trial was opened, between which the server's clock of it began."""


def outside_clock(outcome: Outcome, wire: WireLog, opening: Opening) -> list[ModelCall | ApiCall]:
    """Return the requests that were sent after the agent's time had ended, or answered before it began, in order.

    An agent that works when its answer is read, or when it is closed, works after its time. Where it is not certain
    on which side of the two messages a request lies, it is within: an executor that is held up reads both messages
    late, so that the agent may have begun as much earlier as its last request ended before the second one was read.
    None are where the executor saw no end.
    """
    if outcome.ended_at is None:
        return []
    earliest, latest = opening
    ended = (outcome.ended_at - earliest).total_seconds() + ALLOWANCE
    began = (_begun(outcome) - latest).total_seconds() - ALLOWANCE
    every: list[ModelCall | ApiCall] = [*wire.model_calls, *wire.api_calls]
    calls = sorted(every, key=lambda call: call.started)
    last = max((_end(call) for call in calls if call.started <= ended), default=ended)
    began = min(began, last - outcome.wall_time - ALLOWANCE)
    return [call for call in calls if call.started > ended or _end(call) < began]


def with_outside_time(outcome: Outcome, calls: Sequence[ModelCall | ApiCall], opening: Opening) -> Outcome:
    """Return the outcome with a wall time that reaches from the first to the last request, where any lie outside."""
    if not calls or outcome.ended_at is None:
        return outcome
    begun = (_begun(outcome) - opening[0]).total_seconds()
    first = min(begun, *(call.started for call in calls))
    last = max(begun + outcome.wall_time, *map(_end, calls))
    return outcome.model_copy(update={"wall_time": last - first})


def _end(call: ModelCall | ApiCall) -> float:
    return call.started + call.duration


def _begun(outcome: Outcome) -> datetime:
    return (outcome.ended_at or outcome.started_at) - timedelta(seconds=outcome.wall_time)
