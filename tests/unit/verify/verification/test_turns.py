from __future__ import annotations

import asyncio
from collections.abc import Sequence

from trialbed_verify.verification._turns import take_turns


class Work:
    """So many turns of work; after those of these numbers it rests until it is woken."""

    def __init__(self, name: str, left: int, *rests: int) -> None:
        self.name = name
        self.left = left
        self.down = False
        self.rests = rests
        self.turns = 0
        self.woken = asyncio.Event()

    async def rest(self) -> None:
        if self.turns in self.rests:
            self.woken.clear()
            await self.woken.wait()


class Round:
    """Who had a turn, one after the other."""

    def __init__(self) -> None:
        self.turns = ""
        self.inside = self.most = 0

    async def turn(self, work: Work) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        await asyncio.sleep(0)
        self.turns += work.name
        work.turns += 1
        work.left -= 1
        self.inside -= 1

    async def play(self, works: Sequence[Work], places: int) -> None:
        await take_turns(works, places, self.turn)  # type: ignore[arg-type]


async def settled() -> None:
    """Until nobody can do anything without being woken."""
    for _ in range(100):
        await asyncio.sleep(0)


async def test_they_take_turns_in_their_order_until_nothing_is_left() -> None:
    one = Round()
    await one.play([Work("a", 3), Work("b", 1), Work("c", 2)], 1)
    assert (one.turns, one.most) == ("abcaca", 1)


async def test_no_more_of_them_have_a_turn_than_there_are_places() -> None:
    one = Round()
    await one.play([Work(name, 5) for name in "abcd"], 2)
    assert one.most == 2
    assert {name: one.turns.count(name) for name in "abcd"} == dict.fromkeys("abcd", 5)


async def test_who_is_given_up_has_no_more_turns() -> None:
    one, failing = Round(), Work("a", 9)

    async def turn(work: Work) -> None:
        await one.turn(work)
        work.down = work is failing

    await take_turns([failing, Work("b", 2)], 1, turn)  # type: ignore[list-item, arg-type]
    assert one.turns == "abb"


async def test_who_only_waits_holds_nobody_up() -> None:
    one, resting = Round(), Work("a", 3, 1)
    playing = asyncio.create_task(one.play([resting, Work("b", 2), Work("c", 2)], 1))
    await settled()
    assert one.turns == "abcbc"
    resting.woken.set()
    await playing
    assert one.turns == "abcbcaa"


async def test_who_has_rested_lines_up_and_is_not_forgotten() -> None:
    one, resting = Round(), Work("a", 3, 1)

    async def turn(work: Work) -> None:
        await one.turn(work)
        if one.turns == "abcb":
            resting.woken.set()

    await take_turns([resting, Work("b", 9), Work("c", 9)], 1, turn)  # type: ignore[list-item, arg-type]
    assert one.turns.startswith("abcbcbacba")


async def test_it_ends_when_those_that_rest_have_had_their_last_turn() -> None:
    one, works = Round(), [Work("a", 2, 1), Work("b", 2, 1)]
    playing = asyncio.create_task(one.play(works, 1))
    await settled()
    assert (one.turns, playing.done()) == ("ab", False)
    for work in reversed(works):
        work.woken.set()
    await playing
    assert one.turns == "abba"
