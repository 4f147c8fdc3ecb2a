from __future__ import annotations

import asyncio

from trialbed_verify.verification._pacer import Pacer


async def test_pieces_of_work_are_done_one_by_one_with_a_look_at_the_network_between() -> None:
    pacer, done = Pacer(), list[str]()

    async def work(name: str) -> None:
        async with pacer.turn():
            done.append(name)

    async def network() -> None:
        for _ in range(3):
            await asyncio.sleep(0)
            done.append("look")

    await asyncio.gather(*(work(name) for name in "abcdef"), network())
    first, last = done.index("a"), done.index("f")
    assert [name for name in done if name != "look"] == list("abcdef")
    assert "look" in done[first:last]


async def test_a_failure_frees_the_desk() -> None:
    pacer = Pacer()
    try:
        async with pacer.turn():
            raise ValueError("spilt")
    except ValueError:
        pass
    async with asyncio.timeout(1), pacer.turn():
        pass
