"""The simulators in use, each loaded once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from trialbed.contracts import Simulator
from trialbed.drivers import load_driver
from trialbed.errors import DriverBroken, TrialbedError, UsageError

if TYPE_CHECKING:
    from trialbed.model_access import ModelAccess


class Simulators:
    """Simulator drivers by name, loaded when they are first asked for.

    Args:
        access: gives a simulator the model that it may ask; None if there is no model.
        prompts: a folder of prompts for simulators that can use them; None for their own.
    """

    def __init__(self, access: Callable[[], ModelAccess] | None = None, prompts: Path | None = None) -> None:
        self._loaded: dict[str, Simulator] = {}
        self._access = access
        self._prompts = prompts

    def get(self, name: str) -> Simulator:
        """The simulator of this name; blocks while it is imported.

        Raises:
            DriverError: it is missing or broken.
            UsageError: it needs a model, and there is none; or its prompts are not where they should be.
        """
        if name not in self._loaded:
            made = _make(name)
            if self._access is not None:
                made.model = self._access()
            if made.needs_model and made.model is None:
                raise UsageError(
                    f"the simulator {name!r} asks a model: name one with --simulator-model MODEL, and its endpoint "
                    "with --base-url URL"
                )
            if self._prompts is not None:
                made.use_prompts(self._prompts)
            self._loaded[name] = made
        return self._loaded[name]

    async def load(self, name: str) -> Simulator:
        """The simulator of this name, imported in a thread.

        Raises:
            DriverError: it is missing or broken.
        """
        loaded = self._loaded.get(name)
        return loaded if loaded is not None else await asyncio.to_thread(self.get, name)

    async def close(self) -> None:
        """Close the connections to their models."""
        for simulator in self._loaded.values():
            if simulator.model is not None:
                await simulator.model.close()


def _make(name: str) -> Simulator:
    driver = load_driver("simulators", name)
    try:
        return cast("Simulator", driver())
    except TrialbedError:
        raise
    except Exception as error:
        raise DriverBroken(f"simulators: {name!r} cannot be created: {type(error).__name__}: {error}") from error
