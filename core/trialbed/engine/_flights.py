"""A look, now and then, at requests that take long: a slow model shows that it works before its first trial ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from trialbed.errors import TrialbedError
from trialbed.records import TrialKey

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


class FlightWatch:
    """Looks at the requests of the open trials.

    Args:
        open_trials: the tokens of the trials that are open now.
        flights: gives the requests of a trial that are in flight.
        say: is given the requests in flight where one of them takes long, and none where no one does any more.
        pause: sleeps.
    """

    def __init__(
        self,
        open_trials: Mapping[str, TrialKey],
        flights: Callable[[str], Awaitable[Sequence[Mapping[str, Any]]]],
        say: Callable[[Sequence[ModelFlight]], Awaitable[None]],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._open_trials = open_trials
        self._flights = flights
        self._say = say
        self._pause = pause
        self._said = False

    async def watch(self) -> None:
        """Look until cancelled; a server that does not answer is reported by the trials."""
        while True:
            await self._pause(INTERVAL)
            found = [flight for token, key in [*self._open_trials.items()] for flight in await self._of(token, key)]
            takes_long = any(flight.seconds >= LONG for flight in found)
            if takes_long or self._said:
                await self._say(found if takes_long else ())
            self._said = takes_long

    async def _of(self, token: str, key: TrialKey) -> list[ModelFlight]:
        with suppress(TrialbedError):  # the trial may have ended meanwhile
            return [ModelFlight(key, **flight) for flight in await self._flights(token)]
        return []


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
