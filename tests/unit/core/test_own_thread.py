"""Other people's code in threads: it is given up alone."""

from __future__ import annotations

import asyncio
import threading

import pytest

from trialbed.own_thread import LateCode, OwnLoop, OwnThread, StuckCode


def spin() -> None:
    while True:
        pass


async def test_what_waits_behind_code_that_does_not_return_fails_with_it() -> None:
    thread = OwnThread()
    async with asyncio.timeout(60):
        first, second = await asyncio.gather(
            thread.do(spin, 0.1, __name__), thread.do(spin, package=__name__), return_exceptions=True
        )
        assert isinstance(first, StuckCode)
        assert second is first
        assert await thread.ends(), "it does not begin what waited"


def started_with(ident: int, go_on: threading.Event, ended: list[int]) -> threading.Thread | None:
    """Start threads until one has a number, and return it; all wait, and note that nothing has ended them."""

    def wait() -> None:
        go_on.wait()
        ended.append(threading.get_ident())

    for _ in range(100):
        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        if thread.ident == ident:
            return thread
    return None


async def test_a_thread_that_is_over_is_not_taken_for_another_with_its_number() -> None:
    thread, go_on, ended = OwnThread(), threading.Event(), list[int]()
    ident = await thread.do(threading.get_ident)
    thread.end()
    assert await thread.ends()
    with pytest.raises(RuntimeError, match="its thread is over"):
        await thread.do(threading.get_ident, 60)
    try:
        other = started_with(ident, go_on, ended)
        if other is None:
            pytest.skip("this system gives the numbers of threads to no others")
        stuck = thread.give_up(0.1, __name__)
    finally:
        go_on.set()
    await asyncio.to_thread(other.join, 60)
    assert stuck.place == ""
    assert ident in ended


async def test_a_coroutines_own_timeout_gives_up_no_loop_that_another_one_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trialbed.own_thread.GRACE", 0.1)
    own, go_on = OwnLoop(), threading.Event()

    async def raise_and_hold() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: loop.call_soon(go_on.wait))  # once whoever asked has the exception
        raise TimeoutError("its own")

    async def thread() -> int:
        return threading.get_ident()

    ident = await own.do(thread)
    try:
        with pytest.raises(TimeoutError, match=r"^its own$"):
            await own.do(raise_and_hold, 60)
    finally:
        go_on.set()
    assert await own.do(thread) == ident
    own.end()


async def test_a_coroutine_that_is_late_says_so_and_the_loop_goes_on() -> None:
    own = OwnLoop()

    async def thread() -> int:
        return threading.get_ident()

    ident = await own.do(thread)
    with pytest.raises(LateCode, match=r"^did not return within 0.05 s$"):
        await own.do(lambda: asyncio.Event().wait(), 0.05)
    assert await own.do(thread) == ident
    own.end()


async def test_a_loop_that_its_own_code_has_ended_can_be_ended_and_is_replaced() -> None:
    own = OwnLoop()

    async def stop() -> None:
        asyncio.get_running_loop().stop()

    async def thread() -> threading.Thread:
        return threading.current_thread()

    first = await own.do(thread)
    await own.do(stop)
    await asyncio.to_thread(first.join, 60)
    own.end()
    assert await own.do(thread) is not first
    own.end()
