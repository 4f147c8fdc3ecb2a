"""Other people's code in threads: it is given up alone."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from trialbed.foreign_code import ForeignCode, LateCode, StuckCode
from trialbed.tracebacks import exception_text


def spin() -> None:
    while True:
        pass


async def test_what_waits_behind_code_that_does_not_return_fails_with_it() -> None:
    code, begun = ForeignCode(spin, in_order=True), list[int]()
    async with asyncio.timeout(60):
        first, second = await asyncio.gather(
            code.do(spin, 0.1), code.do(lambda: begun.append(1)), return_exceptions=True
        )
        assert isinstance(first, StuckCode)
        assert second is first
        assert f'(File "{__file__}", line ' in first.place
        with pytest.raises(StuckCode):
            await code.do(spin)
    assert (first.goes_on, begun) == (False, []), "it does not begin what waited"


async def test_a_coroutine_that_is_late_says_so_and_the_loop_goes_on() -> None:
    own = ForeignCode()

    async def thread() -> int:
        return threading.get_ident()

    ident = await own.call(thread)
    with pytest.raises(LateCode, match=r"^did not return within 0.05 s$"):
        await own.wait(lambda: asyncio.Event().wait(), 0.05)
    assert await own.call(thread) == ident
    own.end()


async def test_threads_end_with_what_they_are_for() -> None:
    async def thread() -> threading.Thread:
        return threading.current_thread()

    own = ForeignCode(in_order=True)
    begun = [await own.call(threading.current_thread), await own.call(thread)]
    own.end()
    begun.append(await ForeignCode().call(threading.current_thread))
    for each in begun:
        await asyncio.to_thread(each.join, 60)
        assert not each.is_alive()


class Outcome(BaseException):
    """As test runners raise, past code that catches exceptions."""


@pytest.mark.parametrize("kind", [Outcome, SystemExit, KeyboardInterrupt, asyncio.CancelledError, StopIteration])
async def test_what_ends_programs_is_an_error_of_the_code_that_raises_it(kind: type[BaseException]) -> None:
    def fail() -> None:
        raise kind("mine")

    async def fail_later() -> None:
        raise kind("mine")

    code = ForeignCode(fail)
    for call in (fail, fail_later) if kind in (Outcome, SystemExit, KeyboardInterrupt) else (fail,):
        with pytest.raises(RuntimeError, match="mine") as raised:
            await code.call(call)
        assert exception_text(raised.value, fail).startswith("RuntimeError: ")
        assert f'File "{__file__}"' in exception_text(raised.value, fail)
    assert await code.call(lambda: 1) == 1
    code.end()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(("error", "status"), [(None, 0), (SystemExit(0), 0), (SystemExit(3), 1), (ValueError(), 1)])
async def test_a_fork_of_the_code_ends_with_it(error: BaseException | None, status: int) -> None:
    def fork() -> int:
        child = os.fork()
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if error is not None:
            raise error
        return 0

    code = ForeignCode(fork)
    assert await code.do(fork, 60) == status
    code.end()
