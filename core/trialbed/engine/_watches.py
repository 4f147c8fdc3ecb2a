"""Looks, now and then, at a run that goes on: at requests that take long, and at the models' endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from trialbed.errors import TrialbedError
from trialbed.records import EndpointStatus, TrialKey

INTERVAL = 5.0
"""Seconds between two looks."""

LONG = 10.0
"""Seconds from which on a request takes long."""

MOST = 3
"""Requests that are described; the others are counted."""


class ModelFlight(NamedTuple):
    """A request to the model that is in flight.

    Attributes:
        request: its number in the trial.
        seconds: since the framework sent it.
        tokens: of its answer so far, about; None where the answer comes in one piece.
    """

    key: TrialKey
    request: int
    seconds: float
    tokens: int | None = None


async def watch_flights(
    open_trials: Mapping[str, TrialKey],
    flights: Callable[[str], Awaitable[Sequence[Mapping[str, Any]]]],
    say: Callable[[Sequence[ModelFlight]], Awaitable[None]],
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Look at the requests of the open trials until cancelled; trials report a server that does not answer.

    Args:
        open_trials: the tokens of the trials that are open now.
        flights: gives the requests of a trial that are in flight.
        say: is given the requests in flight where one of them takes long, and none where no one does any more.
        pause: sleeps.
    """
    said = False
    while True:
        await pause(INTERVAL)
        found: list[ModelFlight] = []
        for token, key in [*open_trials.items()]:
            with suppress(TrialbedError):  # the trial may have ended meanwhile
                found += [ModelFlight(key, **flight) for flight in await flights(token)]
        takes_long = any(flight.seconds >= LONG for flight in found)
        if takes_long or said:
            await say(found if takes_long else ())
        said = takes_long


def describe_flights(flights: Sequence[ModelFlight], frameworks: Sequence[str]) -> str:
    """Return requests in flight in words, those first that take longest; empty for none.

    Args:
        frameworks: of the run; one alone is not named.
    """
    ordered = sorted(flights, key=lambda flight: -flight.seconds)
    shown = [_describe(flight, named=len(frameworks) > 1) for flight in ordered[:MOST]]
    return f"{len(flights)} in flight: {'; '.join(shown)}" if shown else ""


def _describe(flight: ModelFlight, *, named: bool) -> str:
    query = f"{flight.key.framework}, query {flight.key.query_id}" if named else f"query {flight.key.query_id}"
    tokens = "" if flight.tokens is None else f", {flight.tokens} tokens"
    return f"{query}, request {flight.request}{tokens}, {flight.seconds:.0f} s"


async def watch_endpoint(
    endpoint: Callable[[], Awaitable[EndpointStatus]],
    say: Callable[[str], None],
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Look at the models' endpoint until cancelled; trials report a server that does not answer.

    Args:
        endpoint: gives its status.
        say: is given a line while requests wait and none is answered: at the second look that finds it so, then after
            twice as many each time.
        pause: sleeps.
    """
    answered, stuck, due = -1, 0, 1
    while True:
        await pause(INTERVAL)
        with suppress(TrialbedError):
            status = await endpoint()
            waits = status.waiting > 0 or status.held > 0 or status.state != "closed"
            stuck = stuck + 1 if waits and status.answered == answered else 0
            answered = status.answered
            if stuck >= due:
                say(_line(status))
                stuck, due = 0, 2 * due


def _line(status: EndpointStatus) -> str:
    if not status.waiting and status.state == "closed":
        requests = "1 request waits for its turn" if status.held == 1 else f"{status.held} requests wait for their turn"
        return f"waiting for the model's endpoint: {requests}, by its own limits or --rpm and --tpm"
    requests = "1 request waits" if status.waiting == 1 else f"{status.waiting} requests wait"
    state = {"open": ", and others are held back", "down": ", and others fail at once"}.get(status.state, "")
    return f"waiting for the model's endpoint: {requests} to be repeated{state}; the last failure: {status.reason}"
