"""What is said while a run waits for its endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import pytest

from trialbed.engine import RunProgress
from trialbed.engine._outage import watch_endpoint
from trialbed.errors import NothingMeasured
from trialbed.records import EndpointStatus

BUSY = EndpointStatus(answered=3, waiting=2, reason="the upstream endpoint answered with status 429: slow down")


async def said(statuses: Sequence[EndpointStatus | None]) -> list[str]:
    """The lines for what the endpoint is at each look; None where the server does not answer."""
    looks: Iterator[EndpointStatus | None] = iter(statuses)
    lines: list[str] = []

    class Notes(RunProgress):
        def note(self, text: str) -> None:
            lines.append(text)

    async def endpoint() -> EndpointStatus:
        status = next(looks, BUSY)
        if status is None:
            raise NothingMeasured("gone")
        return status

    left = len(statuses)

    async def pause(_seconds: float) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await watch_endpoint(endpoint, Notes(), pause)
    return lines


async def test_requests_that_wait_are_said_with_the_reason_less_and_less_often() -> None:
    lines = await said([BUSY] * 9)
    assert lines[0] == (
        "waiting for the model's endpoint: 2 requests wait to be repeated; the last failure: "
        "the upstream endpoint answered with status 429: slow down"
    )
    assert len(lines) == 3


async def test_an_endpoint_that_answers_others_is_not_waited_for() -> None:
    assert await said([BUSY.model_copy(update={"answered": number}) for number in range(9)]) == []
    assert await said([EndpointStatus(answered=3)] * 9) == []


async def test_requests_that_wait_for_their_turn_are_said_too() -> None:
    (line,) = await said([EndpointStatus(answered=3, held=2)] * 2)
    assert line == (
        "waiting for the model's endpoint: 2 requests wait for their turn, by its own limits or --rpm and --tpm"
    )


async def test_a_server_that_does_not_answer_ends_nothing() -> None:
    assert len(await said([BUSY, None, BUSY])) == 1


async def test_it_says_that_others_are_held_back() -> None:
    (line,) = await said([BUSY.model_copy(update={"state": "open", "waiting": 1})] * 2)
    assert "1 request waits to be repeated, and others are held back; the last failure" in line
