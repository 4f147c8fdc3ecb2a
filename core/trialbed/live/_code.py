"""Calls of an agent's code in a trial: outside of the engine's event loop, and within a time."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, Self

from trialbed.own_thread import OwnLoop, OwnThread, StuckCode

LOG = logging.getLogger("trialbed.engine")

CLOSING_SECONDS = 10.0
"""That an agent has to close after its trial, which has its answer or failure by then."""


class AgentCode:
    """The code of an agent in one trial: coroutines run in the agent's own event loop, all else in a thread.

    An async context manager, which ends what still runs, and closes the agent.

    Args:
        loop: of all trials of the agent, which may share what belongs to it.
        module: of the agent, whose line is named where it does not return.
        alone: whether no coroutine may go on after its trial.

    Attributes:
        closing: closes the agent; None where nothing is to be closed.
    """

    def __init__(self, loop: OwnLoop, module: str, *, alone: bool) -> None:
        self._loop = loop
        self._module = module
        self._alone = alone
        self._thread = OwnThread()
        self._awaited: Future[None] | None = None
        self.closing: Callable[[], Any] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, asyncio.CancelledError):
            self._interrupt(0.0)
        if self.closing is not None:
            await self._close(self.closing)
        self._thread.end()

    async def _close(self, closing: Callable[[], Any]) -> None:
        """Close the agent; that it fails takes nothing from its trial."""
        deadline = asyncio.timeout(CLOSING_SECONDS)
        try:
            async with deadline:
                await self.call(closing)
        except Exception as error:  # noqa: BLE001 - the user's code: its trial is over
            problem = f"raised {type(error).__name__}: {error}"
            if deadline.expired():
                stuck = await self.stop(CLOSING_SECONDS)
                problem = f"did not return within {CLOSING_SECONDS:g} s{'' if stuck is None else stuck.place}"
            LOG.warning("an agent of %s: close() %s; its trial stays as it is", self._module, problem)

    async def call(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
        """Return the result of a function, whether or not it is async.

        Args:
            named: its arguments by name; the one without a name comes first.

        Raises:
            StuckCode: another trial of the agent held the event loop.
            Exception: whatever it raises.
        """
        first = (named.pop(""),) if "" in named else ()
        if inspect.iscoroutinefunction(function):
            return await self._wait(lambda: function(*first, *arguments, **named))
        self._awaited = None
        value = await self._thread.do(lambda: function(*first, *arguments, **named), package=self._module)
        return await self._wait(lambda: value) if inspect.isawaitable(value) else value

    async def _wait(self, begin: Callable[[], Awaitable[Any]]) -> Any:
        awaited = self._awaited = Future[None]()

        async def noted() -> Any:
            try:
                return await begin()
            finally:
                awaited.set_result(None)

        return await self._loop.do(noted, package=self._module)

    async def stop(self, seconds: float) -> StuckCode | None:
        """End the call that was cancelled, and return where it was; None if it has ended, or lets others go on.

        Args:
            seconds: that it had.
        """
        if self._awaited is not None:
            ended = self._awaited if self._alone else None
            return await self._loop.give_up_if_held(seconds, self._module, ended=ended)
        thread = self._thread
        stuck = self._interrupt(seconds)
        stuck.goes_on = not await thread.ends()
        return stuck

    def _interrupt(self, seconds: float) -> StuckCode:
        """End the work in the thread; later work has a new one."""
        thread, self._thread = self._thread, OwnThread()
        return thread.give_up(seconds, self._module)
