"""The world of a trial: Trialbed's own is a plain object here, a foreign one lives in a thread."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from trialbed.conformity import made_world
from trialbed.contracts import Simulator, World
from trialbed.own_thread import OwnThread, StuckCode
from trialbed.records import Failure, Json
from trialbed.tracebacks import tool_failure, tool_stuck

logger = logging.getLogger(__name__)

T = TypeVar("T")

OWN = "trialbed_plugins."
"""The beginning of the modules whose worlds return at once, whatever they are asked."""

CLOSING_SECONDS = 10.0
"""Seconds in which a world gives its state when its trial is closed."""


def is_foreign(simulator: Simulator) -> bool:
    """Return whether a simulator makes worlds that are not Trialbed's own."""
    kind = type(simulator)
    makes = kind.world_from is not Simulator.world_from or kind.world is not Simulator.world
    return makes and not kind.__module__.startswith(OWN)


class HostedWorld:
    """A foreign world: made, asked and read in a thread of its own, so that the server waits for none.

    It is made when it is first asked.

    Args:
        seconds: that one call may take.
    """

    def __init__(self, simulator: Simulator, state: Json, seconds: float) -> None:
        self._simulator = simulator
        self._state = state
        self._seconds = seconds
        self._thread = OwnThread()
        self._world: World | None = None
        self._is_made = False
        self.failure: Failure | None = None

    async def ask(self, work: Callable[[World], T]) -> T | None:
        """Return the result of some work on the world; None where the simulator makes none of the trial's state.

        Raises:
            StuckCode: it did not return in time.
            Exception: the world cannot be made.
        """
        return await self._do(lambda: _on(self._make(), work), self._seconds)

    async def end(self) -> Json:
        """Return the state, and let the world go; a failure is kept as the trial's."""
        try:
            return await self._do(lambda: _on(self._make(), _state_of), min(self._seconds, CLOSING_SECONDS))
        except StuckCode as stuck:
            self.failure = tool_stuck(f"{self._name}.state()", stuck)
        except Exception as error:
            logger.exception("the state of a world cannot be read")
            self.failure = tool_failure(f"{self._name}.state()", error, self.code)
        finally:
            self.drop()
        return None

    def drop(self) -> None:
        """Let the world go."""
        self._thread.end()

    @property
    def code(self) -> object:
        """Return the object whose code is asked."""
        return self._world or self._simulator

    @property
    def _name(self) -> str:
        return type(self.code).__name__

    async def _do(self, work: Callable[[], T], seconds: float) -> T:
        return await self._thread.do(work, seconds, type(self.code).__module__)

    def _make(self) -> World | None:
        if not self._is_made:
            self._world = made_world(self._simulator, self._state)
            self._is_made = True
        return self._world


def _state_of(world: World) -> Json:
    return world.state()


def _on(world: World | None, work: Callable[[World], T]) -> T | None:
    return None if world is None else work(world)
