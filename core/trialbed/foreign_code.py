"""Call code of other people within a time limit and without blocking an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import inspect
import math
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

GRACE = 1.0
"""Seconds for code to end, or to let others go on."""


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


class ForeignCode:
    """Calls functions in threads, and coroutines side by side in an event loop in another thread.

    Code that does not return in time is given up with its thread, and later calls get a new one. Other calls waiting in
    that thread fail, too. Python code is then ended. Code that never returns from C keeps the thread, but no program
    waits for it.

    Args:
        code: the function, class or object; if it does not return, the line of its package is named.
        in_order: whether functions run one after the other in one thread, instead of in a thread each. They share a
            state, and after a function that does not return, no other is called.
        beside: other code that shares its event loop with this one.
    """

    def __init__(self, code: object = None, *, in_order: bool = False, beside: ForeignCode | None = None) -> None:
        self._code = code
        self._in_order = in_order
        self._host = beside or self
        self._functions: _Lane | None = None
        self._coroutines: _Lane | None = None
        self._last: tuple[_Lane, Future[None]] | None = None

    async def call(self, function: Callable[[], Any], seconds: float = math.inf, of: object = None) -> Any:
        """Return the result of a function, whether or not it is async.

        Args:
            seconds: the time limit; call ``stop`` after cancelling this.
            of: the code to name a line of, instead of the code for all calls.

        Raises:
            StuckCode: it did not return in time, or shared its thread with such code.
            LateCode: a coroutine waits for too long, as others can.
            Exception: any exception of the function.
        """
        if inspect.iscoroutinefunction(function.func if isinstance(function, partial) else function):
            return await self.wait(function, seconds, of)
        value = await self.do(function, seconds, of)
        return await self.wait(lambda: value, seconds, of) if inspect.isawaitable(value) else value

    async def do(self, function: Callable[[], Any], seconds: float = math.inf, of: object = None) -> Any:
        """Return the result of a function that is not async; see ``call``."""
        lane = self._functions
        if lane is None or not self._in_order:
            lane = self._functions = _Lane()
        if lane.stuck is not None:
            raise lane.stuck
        future: Future[Any] = Future()
        context = contextvars.copy_context()
        lane.jobs.put(lambda: _settle(partial(context.run, function), future))
        if not self._in_order:
            lane.end()
        self._last = lane, future
        return await lane.result(future, seconds, of or self._code)

    async def wait(self, begin: Callable[[], Awaitable[Any]], seconds: float = math.inf, of: object = None) -> Any:
        """Return the result of a coroutine, which is made in its event loop, too; see ``call``."""
        lane = self._host._coroutines
        if lane is None or lane.stuck is not None or not lane.thread.is_alive():
            lane = self._host._coroutines = _Lane(asyncio.new_event_loop())
        ended: Future[None] = Future()
        self._last = self._host._last = lane, ended
        return await lane.result(lane.begin(begin, ended), seconds, of or self._code)

    async def stop(self, seconds: float, *, wholly: bool = False) -> StuckCode | None:
        """End the last call, which was cancelled, and return its place; None if it lets others go on.

        Later functions have a new thread.

        Args:
            seconds: the time limit that it had.
            wholly: whether no coroutine may go on either.
        """
        if self._last is None:
            return None
        lane, ended = self._last
        self._functions = None
        return await lane.stop(seconds, self._code, ended if wholly else None)

    def end(self) -> None:
        """Let the threads end when they have nothing more to do; nothing more may be asked of them."""
        for lane in (self._functions, self._coroutines):
            if lane is not None:
                lane.end()


def in_this_loop(thing: object) -> Callable[..., Awaitable[Any]]:
    """Return a function that calls an object's async methods by name in this event loop, from any loop."""
    loop = asyncio.get_running_loop()

    def ask(method: str, *arguments: Any) -> Awaitable[Any]:
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(getattr(thing, method)(*arguments), loop))

    return ask


class _Lane:
    """A thread and its work, which is functions in order, or coroutines if it has an event loop.

    Attributes:
        stuck: why it was given up.
        jobs: the remaining functions; None ends the thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.stuck: StuckCode | None = None
        self._loop = loop
        self.jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._asked: set[Future[Any]] = set()
        target, given = (self._run_functions, ()) if loop is None else (_run_loop, (loop,))
        self.thread = threading.Thread(target=target, args=given, name="trialbed-foreign-code", daemon=True)
        self.thread.start()

    def _run_functions(self) -> None:
        with suppress(_Interruption):
            while (job := self.jobs.get()) is not None:
                job()

    def begin(self, begin: Callable[[], Awaitable[Any]], ended: Future[None]) -> Future[Any]:
        assert self._loop is not None  # noqa: S101 - it is one of coroutines
        return asyncio.run_coroutine_threadsafe(_call(begin, ended), self._loop)

    async def result(self, future: Future[Any], seconds: float, code: object) -> Any:
        self._asked.add(future)
        try:
            async with asyncio.timeout(seconds):
                found, error = await asyncio.wrap_future(future)
        except TimeoutError:
            raise await self.stop(seconds, code) or LateCode(seconds, "") from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise self.stuck or RuntimeError("it was cancelled") from None
        finally:
            self._asked.discard(future)
        if error is not None:
            raise error
        return found

    async def stop(self, seconds: float, code: object, ended: Future[None] | None = None) -> StuckCode | None:
        """Give the thread up, and return its place; None if its event loop goes on to other work."""
        if self.stuck is None:
            held = self._loop is None or not await self._answers(self._loop)
            if not held and (ended is None or await _happens(ended)):
                return None
        if self.stuck is None:  # nor has another call given it up meanwhile
            self.stuck = StuckCode(seconds, _place(self.thread, code) if held else "")
            self.end()
            for future in list(self._asked):
                future.cancel()
            if held:
                _interrupt(self.thread)
            with suppress(TimeoutError):
                # Not by joining it in a thread: many of these would leave no thread for others.
                async with asyncio.timeout(GRACE):
                    while self.thread.is_alive():  # noqa: ASYNC110 - a thread has no event that its end sets
                        await asyncio.sleep(0.01)
            self.stuck.goes_on = self.thread.is_alive()
        return self.stuck

    async def _answers(self, loop: asyncio.AbstractEventLoop) -> bool:
        reached: Future[None] = Future()
        try:
            loop.call_soon_threadsafe(reached.set_result, None)
        except RuntimeError:  # it is closed
            return False
        return await _happens(reached)

    def end(self) -> None:
        self.jobs.put(None)
        if self._loop is not None:
            with suppress(RuntimeError):  # its own code has closed it
                self._loop.call_soon_threadsafe(self._loop.stop)


class _Interruption(BaseException):
    """Ends code that did not return in time."""


# (result, None) or (None, error). A future that raised would replace a ``TimeoutError`` by one without its line.
_Found = tuple[Any, Exception | None]


def _settle(function: Callable[[], Any], future: Future[_Found]) -> None:
    owner = os.getpid()
    try:
        found: _Found = function(), None
    except _Interruption:
        raise
    except BaseException as error:  # noqa: BLE001 - it is the asker's
        found = None, _raisable(error, owner)
    _end_fork(owner, 0)
    with suppress(InvalidStateError):  # no caller waits any more
        future.set_result(found)


async def _call(begin: Callable[[], Awaitable[Any]], ended: Future[None]) -> _Found:
    owner = os.getpid()
    try:
        return await begin(), None
    except (asyncio.CancelledError, _Interruption):
        raise
    except BaseException as error:  # noqa: BLE001 - it is the asker's; some would end the loop, and all others with it
        return None, _raisable(error, owner)
    finally:
        _end_fork(owner, 0)
        ended.set_result(None)


def _raisable(error: BaseException, owner: int) -> Exception:
    """Return the error in a form that has no special meaning to an event loop, with the lines that raised it."""
    _end_fork(owner, int(not isinstance(error, SystemExit) or bool(error.code)))
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(repr(error)).with_traceback(error.__traceback__)


def _end_fork(owner: int, status: int) -> None:
    """End this process if it is a fork made by the called code, because nothing but that code goes on in it."""
    if os.getpid() != owner:
        os._exit(status)


async def _happens(event: Future[None]) -> bool:
    done, _ = await asyncio.wait({asyncio.wrap_future(event)}, timeout=GRACE)
    return bool(done)


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.set_exception_handler(_handle)
    with suppress(_Interruption):
        is_stopped = False
        while not is_stopped:  # its own task may end it instead of its owner
            with suppress(SystemExit, KeyboardInterrupt):
                loop.run_forever()
                is_stopped = True
    loop.set_exception_handler(lambda *_: None)  # a function that does not end now is given up
    with suppress(_Interruption):
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
    with suppress(_Interruption):
        loop.close()


def _handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Pass on the errors of tasks that are not awaited, unless they were ended."""
    if not isinstance(context.get("exception"), _Interruption):
        loop.default_exception_handler(context)


def _place(thread: threading.Thread, code: object) -> str:
    """Return the innermost line of a thread in some code's package, else its innermost line."""
    frame: FrameType | None = sys._current_frames().get(thread.ident or 0) if thread.is_alive() else None
    innermost, first = frame, str(getattr(code, "__module__", "")).partition(".")[0]
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] != first:
        frame = frame.f_back
    shown = frame or innermost
    return f' (File "{shown.f_code.co_filename}", line {shown.f_lineno})' if shown is not None else ""


def _interrupt(thread: threading.Thread) -> None:
    """Raise an exception in a thread when it next runs Python."""
    if not thread.is_alive():  # another thread may have its number by now
        return
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_Interruption))
