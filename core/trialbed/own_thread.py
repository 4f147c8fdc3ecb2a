"""A thread for code of other people, so that no event loop waits for it."""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import math
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from types import FrameType

T = TypeVar("T")

Job = Callable[[], None]

GRACE = 1.0
"""Seconds in which code that is to end, or to let others go on, does so."""

ENDING = (StopIteration, SystemExit, KeyboardInterrupt, asyncio.CancelledError)
"""Exceptions that mean something else to an event loop than to the code that raises them."""


class StuckCode(Exception):
    """Code did not return in time.

    Attributes:
        place: the line that it was at, in brackets; empty if that is not known.
        goes_on: whether it could not be ended.
    """

    def __init__(self, seconds: float, place: str) -> None:
        super().__init__(f"did not return within {seconds:g} s{place}")
        self.place = place
        self.goes_on = False


class LateCode(StuckCode, TimeoutError):
    """A coroutine did not return in time, though it lets others go on."""


class OwnThread:
    """A thread that does one thing after the other; it begins with the first.

    Code that does not return in time is given up, and so is the thread: what waits for its turn fails with it, and
    whatever is asked of it later is refused. Code in Python is ended then. Code that never returns from C keeps the
    thread, which no program waits for.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._stuck: StuckCode | None = None
        self._asked: set[asyncio.Future[Any]] = set()

    async def do(self, work: Callable[[], T], seconds: float = math.inf, package: str = "") -> T:
        """Return the result of some work.

        Args:
            seconds: that it has, from when it is asked for; whoever cancels this instead has ``give_up`` end it.
            package: the module of the code, whose line is named where it does not return.

        Raises:
            StuckCode: it did not return in time, or an earlier call did not.
            RuntimeError: the thread is over.
            Exception: whatever it raises.
        """
        if self._stuck is not None:
            raise self._stuck
        if self._thread is not None and not self._thread.is_alive():
            raise RuntimeError("its thread is over")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()
        self._jobs.put(lambda: _settle(partial(context.run, work), loop, future))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="trialbed-tools", daemon=True)
            self._thread.start()
        self._asked.add(future)
        try:
            async with asyncio.timeout(seconds) as deadline:
                return await future
        except TimeoutError:
            if not deadline.expired():
                raise
        finally:
            self._asked.discard(future)
        raise self.give_up(seconds, package)

    def give_up(self, seconds: float, package: str = "") -> StuckCode:
        """End the work here, and return where it was; see ``do``. Only the first time counts."""
        if self._stuck is None:
            self._stuck = StuckCode(seconds, "" if self._thread is None else _place(self._thread, package))
            self.end()
            if self._thread is not None:
                _interrupt(self._thread)
            for future in self._asked:
                if not future.done():
                    future.set_exception(self._stuck)
        return self._stuck

    async def ends(self) -> bool:
        """Return whether the thread is over soon."""
        return self._thread is None or await _ends(self._thread)

    def end(self) -> None:
        """Let the thread end when its work is done; nothing more may be asked of it."""
        self._jobs.put(None)

    def _run(self) -> None:
        try:
            while (job := self._jobs.get()) is not None:
                job()
        except _Interruption:
            return


class OwnLoop:
    """A thread with an event loop, in which coroutines of other people run side by side.

    Where one of them holds the loop, all of them are given up, and later ones get a new thread. Code in Python is ended
    then. Code that never returns from C keeps the thread, which no program waits for.
    """

    def __init__(self) -> None:
        self._lane: _Lane | None = None

    async def do(self, begin: Callable[[], Awaitable[T]], seconds: float = math.inf, package: str = "") -> T:
        """Return the result of a coroutine.

        Args:
            begin: makes the coroutine; it is called in the thread too.
            seconds: that it has; whoever cancels this instead asks ``give_up_if_held``.
            package: the module of the code, whose line is named where it holds the loop.

        Raises:
            StuckCode: it, or another one of the loop, did not let others go on.
            LateCode: it waits for too long, as others can.
            Exception: whatever it raises.
        """
        if self._lane is None or not self._lane.thread.is_alive():
            self._lane = _Lane()
        lane = self._lane
        future = asyncio.run_coroutine_threadsafe(_call(begin), lane.loop)
        lane.running.add(future)
        try:
            async with asyncio.timeout(seconds) as deadline:
                return await asyncio.wrap_future(future)
        except TimeoutError:
            if not deadline.expired():
                raise
            stuck = await self._give_up_if_held(lane, seconds, package)
            raise stuck or LateCode(seconds, "") from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise lane.stuck or RuntimeError("it was cancelled") from None
        finally:
            lane.running.discard(future)

    async def give_up_if_held(
        self, seconds: float, package: str = "", *, ended: Future[None] | None = None
    ) -> StuckCode | None:
        """Give the loop up if it gets to no other work, and return where it was; None if it goes on.

        Args:
            seconds: that the code had.
            ended: whether a coroutine that was cancelled has ended; if that is not so soon, the loop is given up too.
        """
        return None if self._lane is None else await self._give_up_if_held(self._lane, seconds, package, ended)

    async def _give_up_if_held(
        self, lane: _Lane, seconds: float, package: str, ended: Future[None] | None = None
    ) -> StuckCode | None:
        if lane.stuck is not None:
            return lane.stuck
        held = not await lane.answers()
        if held or (ended is not None and not await _happens(ended)):
            stuck = StuckCode(seconds, _place(lane.thread, package) if held else "")
            lane.give_up(stuck, held=held)
            self._lane = None if self._lane is lane else self._lane
            stuck.goes_on = not await _ends(lane.thread)
        return lane.stuck

    def end(self) -> None:
        """Let the thread end; nothing more may be asked of it."""
        if self._lane is not None:
            self._lane.end()
            self._lane = None


class _Lane:
    """An event loop, its thread, and what runs in it.

    Attributes:
        stuck: why it was given up.
    """

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=_run_loop, args=(self.loop,), name="trialbed-coroutines", daemon=True)
        self.running: set[Future[Any]] = set()
        self.stuck: StuckCode | None = None
        self.thread.start()

    async def answers(self) -> bool:
        """Return whether the loop gets to other work soon."""
        reached: Future[None] = Future()
        try:
            self.loop.call_soon_threadsafe(reached.set_result, None)
        except RuntimeError:  # it is closed
            return False
        return await _happens(reached)

    def give_up(self, stuck: StuckCode, *, held: bool) -> None:
        """End all that runs in it; only the first time counts.

        Args:
            held: whether the loop gets to nothing else.
        """
        if self.stuck is not None:
            return
        self.stuck = stuck
        self.end()
        for future in list(self.running):
            future.cancel()
        if held:
            _interrupt(self.thread)

    def end(self) -> None:
        """Let the loop end when it gets to it."""
        with suppress(RuntimeError):  # its own code has closed it
            self.loop.call_soon_threadsafe(self.loop.stop)


async def do_alone(work: Callable[[], T], seconds: float, code: object) -> T:
    """Return the result of some work, done in a thread of its own.

    Args:
        code: the function, class or object whose code it is; its line is named where it does not return.

    Raises:
        StuckCode: it did not return in time.
        Exception: whatever it raises.
    """
    thread = OwnThread()
    try:
        return await thread.do(work, seconds, getattr(code, "__module__", "") or "")
    finally:
        thread.end()


class _Interruption(BaseException):
    """Ends code that did not return in time."""


def _settle(work: Callable[[], T], loop: asyncio.AbstractEventLoop, future: asyncio.Future[T]) -> None:
    result: T | None = None
    error: BaseException | None = None
    try:
        result = work()
    except _Interruption:
        raise
    except BaseException as raised:  # noqa: BLE001 - it is the asker's
        error = RuntimeError(repr(raised)) if isinstance(raised, ENDING) else raised

    def settle() -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type] # a result where there is no error
        else:
            future.set_exception(error)

    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:  # the loop is closed, and nobody asks any more
        return


async def _call(begin: Callable[[], Awaitable[T]]) -> T:
    try:
        return await begin()
    except (SystemExit, KeyboardInterrupt) as error:  # they would end the loop, and with it all others
        raise RuntimeError(repr(error)) from error


async def _happens(event: Future[None]) -> bool:
    done, _ = await asyncio.wait({asyncio.wrap_future(event)}, timeout=GRACE)
    return bool(done)


async def _ends(thread: threading.Thread) -> bool:
    """Return whether a thread is over soon."""
    with suppress(TimeoutError):
        async with asyncio.timeout(GRACE):
            while thread.is_alive():  # noqa: ASYNC110 - a thread has no event that its end sets
                await asyncio.sleep(0.01)
    return not thread.is_alive()


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.set_exception_handler(_handle)
    with suppress(_Interruption):
        while not _has_stopped(loop):
            pass
    loop.set_exception_handler(lambda *_: None)  # what does not end now is given up
    with suppress(_Interruption):
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
    with suppress(_Interruption):
        loop.close()


def _has_stopped(loop: asyncio.AbstractEventLoop) -> bool:
    """Run a loop; False if a task of its own has ended it instead of whoever it is for."""
    try:
        loop.run_forever()
    except (SystemExit, KeyboardInterrupt):
        return False
    return True


def _handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Pass on the errors of tasks whose results are not awaited, except of those that were ended."""
    if not isinstance(context.get("exception"), _Interruption):
        loop.default_exception_handler(context)


def _place(thread: threading.Thread, package: str) -> str:
    """Return the innermost line of a package at which a thread is, else its innermost line; empty if it is over."""
    if not thread.is_alive():
        return ""
    frame: FrameType | None = sys._current_frames().get(thread.ident or 0)
    innermost, first = frame, package.partition(".")[0]
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] != first:
        frame = frame.f_back
    shown = frame or innermost
    return f' (File "{shown.f_code.co_filename}", line {shown.f_lineno})' if shown is not None else ""


def _interrupt(thread: threading.Thread) -> None:
    """Raise an exception in a thread as soon as it runs Python."""
    if not thread.is_alive():  # another thread may have its number by now
        return
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_Interruption))
