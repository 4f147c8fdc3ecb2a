"""Work on many items, of which a few are held at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from trialbed_evaluation.bounded import for_each


async def test_items_are_asked_for_when_their_turn_comes() -> None:
    given: list[int] = []
    ended: list[tuple[int, int]] = []
    held = 0

    def items() -> Iterator[int]:
        for number in range(20):
            given.append(number)
            yield number * 10

    async def do(place: int, item: int) -> None:
        nonlocal held
        held = max(held, len(given) - len(ended))
        await asyncio.sleep(0)
        ended.append((place, item))

    await for_each(items(), do, most=3)
    assert sorted(ended) == [(number, number * 10) for number in range(20)]
    assert held <= 4  # one waits for its turn


async def test_what_fails_ends_the_others_and_is_raised_as_it_is() -> None:
    cancelled: list[int] = []

    async def do(place: int, item: str) -> None:
        if item == "b":
            raise ValueError("b is wrong")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(place)
            raise

    with pytest.raises(ValueError, match="b is wrong"):
        await for_each("abc", do, most=2)
    assert cancelled == [0]
