"""Requests that take long, as a run shows them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from trialbed.engine._watches import ModelFlight, describe_flights, watch_flights
from trialbed.errors import NothingMeasured
from trialbed.records import TrialKey

KEY = TrialKey(framework="langgraph", query_id=1)
FLIGHTS = [
    ModelFlight(KEY, 3, 172.4, 41),
    ModelFlight(TrialKey(framework="reference", query_id="b"), 1, 200.0),
]


def test_requests_in_flight_are_described_with_the_longest_first() -> None:
    text = "2 in flight: query b, request 1, 200 s; query 1, request 3, 41 tokens, 172 s"
    assert describe_flights(FLIGHTS, ["langgraph"]) == text
    named = "reference, query b, request 1, 200 s; langgraph, query 1, request 3, 41 tokens, 172 s"
    assert describe_flights(FLIGHTS, ["langgraph", "reference"]) == f"2 in flight: {named}"
    assert describe_flights([], ["langgraph"]) == ""
    assert describe_flights(FLIGHTS * 50, ["langgraph"]).count("query") == 3


async def look(*looks: Sequence[Mapping[str, Any]] | Exception) -> list[Sequence[ModelFlight]]:
    """What is said at each look, if a trial has these requests in flight."""
    said: list[Sequence[ModelFlight]] = []
    left = iter(looks)

    async def flights(token: str) -> Sequence[Mapping[str, Any]]:
        assert token == "trial"
        found = next(left)
        if isinstance(found, Exception):
            raise found
        return found

    async def say(found: Sequence[ModelFlight]) -> None:
        said.append(found)

    async def pause(seconds: float) -> None:
        if not left.__length_hint__():  # type: ignore[attr-defined] # of a tuple's iterator
            raise asyncio.CancelledError

    with suppress(asyncio.CancelledError):
        await watch_flights({"trial": KEY}, flights, say, pause)
    return said


async def test_only_what_takes_long_is_said_and_its_end_once() -> None:
    short, long = {"request": 1, "seconds": 2.0, "tokens": None}, {"request": 2, "seconds": 30.0, "tokens": 7}
    assert await look([short], [long], [short], [short], []) == [[ModelFlight(KEY, 2, 30.0, 7)], ()]


async def test_a_trial_that_has_ended_meanwhile_has_nothing_in_flight() -> None:
    assert await look(NothingMeasured("no trial has this token"), []) == []
