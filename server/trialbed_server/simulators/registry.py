"""The simulators in use, each loaded once; foreign ones run in separate event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from trialbed.contracts import Simulation, Simulator
from trialbed.drivers import load_driver
from trialbed.errors import DriverBroken, TrialbedError, UsageError
from trialbed.foreign_code import ForeignCode, LateCode, in_this_loop
from trialbed.records import ModelUse

if TYPE_CHECKING:
    from trialbed.model_access import ModelAccess

T = TypeVar("T")

OWN = ("trialbed_plugins.", "trialbed_server.")
"""The beginnings of modules with simulators that do not block the event loop."""


@dataclass
class Simulators:
    """Simulator drivers by name, loaded when they are first asked for.

    Attributes:
        access: gives a simulator the model that it may ask; None if there is no model.
        prompt: the file with the system prompt for simulators that ask a model; None for their own.
    """

    access: Callable[[], ModelAccess] | None = None
    prompt: Path | None = None
    _loaded: dict[str, Simulator] = field(default_factory=dict)
    _foreign: dict[int, ForeignCode] = field(default_factory=dict)
    _accesses: list[ModelAccess] = field(default_factory=list)

    def get(self, name: str) -> Simulator:
        """Return the simulator of this name; blocks while it is imported.

        Raises:
            DriverError: it is missing or broken.
            UsageError: it needs a model that the server does not have, or its prompt cannot be read.
        """
        if name not in self._loaded:
            made = _make(name)
            if self.access is not None:
                made.model = self.access()
                self._accesses.append(made.model)
            if made.needs_model and made.model is None:
                raise UsageError(
                    f"the simulator {name!r} asks a model: name one with --simulator-model MODEL, and its endpoint "
                    "with --base-url URL"
                )
            if self.prompt is not None:
                made.system_prompt = read_prompt(self.prompt)
            self._loaded[name] = made
        return self._loaded[name]

    async def load(self, name: str) -> Simulator:
        """Return the simulator of this name, imported in a thread.

        Raises:
            DriverError: it is missing or broken.
        """
        loaded = self._loaded.get(name)
        return loaded if loaded is not None else await asyncio.to_thread(self.get, name)

    async def ask(self, simulator: Simulator, begin: Callable[[], Awaitable[Simulation]], seconds: float) -> Simulation:
        """Return the answer of a simulator; a foreign one runs in its own thread.

        Args:
            begin: makes the coroutine that asks the simulator.

        Raises:
            LateCode: it took too long.
            StuckCode: it took too long because it blocked its event loop.
            Exception: raised by the simulator, including its own TimeoutError.
        """
        if type(simulator).__module__.startswith(OWN):
            return await within(seconds, begin())
        code = self._foreign.get(id(simulator))
        if code is None:
            code = self._foreign[id(simulator)] = ForeignCode(simulator)
            if simulator.model is not None:
                from trialbed.model_access import RelayedModel  # most servers have no model

                # Its connections are of this event loop.
                simulator.model = RelayedModel(simulator.model.endpoint, in_this_loop(simulator.model))
        return cast("Simulation", await code.wait(begin, seconds))

    def uses(self) -> list[ModelUse]:
        """Return the use that each makes of its model."""
        return [access.use for access in self._accesses]

    async def close(self) -> None:
        """Close the connections to their models."""
        for code in self._foreign.values():
            code.end()
        for access in self._accesses:
            await access.close()


async def within(seconds: float, awaitable: Awaitable[T]) -> T:
    """Return the result of an awaitable that may take this many seconds.

    Raises:
        LateCode: they are over.
        Exception: raised by the awaitable.
    """
    try:
        async with asyncio.timeout(seconds) as deadline:
            return await awaitable
    except TimeoutError:
        if deadline.expired():
            raise LateCode(seconds, "") from None
        raise


def read_prompt(file: Path) -> str:
    """Read a system prompt.

    Raises:
        UsageError: it cannot be read, or is empty.
    """
    try:
        text = file.read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise UsageError(f"--simulator-prompt {file}: it cannot be read: {error}") from error
    if not text:
        raise UsageError(f"--simulator-prompt {file}: it is empty")
    return text


def _make(name: str) -> Simulator:
    driver = load_driver("simulators", name)
    try:
        return cast("Simulator", driver())
    except TrialbedError:
        raise
    except Exception as error:
        raise DriverBroken(f"simulators: {name!r} cannot be created: {type(error).__name__}: {error}") from error
