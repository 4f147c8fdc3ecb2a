"""The contract of a simulator of Apis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from trialbed.errors import ApiRefused as ApiRefused  # tools raise it, too
from trialbed.records import Api, Json, Record

if TYPE_CHECKING:
    from trialbed.model_access import ModelAccess


class Simulation(Record):
    """The answer of a simulated Api: ``error`` is empty on success. An error is never cached."""

    response: Json = ""
    error: str = ""


class Example(Record):
    """A cached answer of an Api, to another input, as an example of its answers."""

    arguments: Json
    response: Json


class World(ABC):
    """The state that the Apis of one trial act on, as a plain object that lives as long as the trial.

    It is made, called and read in its own thread, one call after the other. A call that does not return within the
    trial's time is given up, and the trial is not measured; other trials go on.

    Class attributes:
        checked: whether arguments that do not fit the Api's schema are refused before the world sees them.
    """

    checked: ClassVar[bool] = True

    @abstractmethod
    def call(self, api: Api, arguments: Mapping[str, Json]) -> Json:
        """Carry out a call of an Api, and return its response.

        Args:
            arguments: they fit the Api's schema, unless the world has ``checked = False``.

        Raises:
            ApiRefused: it cannot be done; nothing has changed.
            Exception: the world is broken: the trial is not measured.
        """

    @abstractmethod
    def state(self) -> Json:
        """Return the state after the trial's calls, as JSON; scores compare it with the query's ``final_state``."""


class Simulator(ABC):
    """Answers for Apis that neither the cache nor a real endpoint answers for.

    A driver of the group ``trialbed.simulators`` is a subclass that takes no arguments.

    Class attributes:
        provenance: how its answers are marked in the cache and the wire log (``template``, ``mini``).
        model: the model that it may ask (``--simulator-model``), set before its first answer; None if the user names
            none.
        system_prompt: the system prompt for that model (``--simulator-prompt``); None for its own.
        needs_model: whether it can answer nothing without one; it is refused then, before it is asked.
        invented: whether its Apis exist nowhere else; no real API is then asked for them.
        max_examples: how many cached answers of the Api ``simulate_like`` is given at most; with 0 it is not called.
    """

    provenance: ClassVar[str]
    needs_model: ClassVar[bool] = False
    invented: ClassVar[bool] = False
    max_examples: ClassVar[int] = 0
    model: ModelAccess | None = None
    system_prompt: str | None = None

    @property
    def label(self) -> str:
        """The mark of its answers, with the provenance and everything else that they depend on (``llm:<model>``)."""
        return self.provenance

    def revision(self, api: Api | None) -> str:  # noqa: ARG002 - simulators override it
        """A text that changes whenever a stored answer for this Api would no longer be given.

        Stored answers of another revision are not used. Empty: stored answers stay valid forever.
        """
        return ""

    def settings(self) -> Mapping[str, Json]:
        """Return the settings that its answers are made with, such as the model's; stored with every answer."""
        return {}

    def world(self) -> World | None:
        """A new world for one trial, if the Apis change something; its answers are never cached.

        None: equal calls have equal answers, whenever they are made.
        """
        return None

    def world_from(self, state: Json) -> World | None:  # noqa: ARG002 - simulators override it
        """A new world for one trial, which begins as the query's ``initial_state`` says."""
        return self.world()

    @abstractmethod
    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:
        """Answer one call.

        Args:
            api: the Api's documentation, None if it is unknown.
            ref: ``category/tool_name/api_name`` as asked for, to name it in errors.
            arguments: the parsed input. It may not fit the Api's schema; an exception is an API error then.

        Raises:
            SimulationError: no answer can be given; becomes an API error.
            Exception: the simulator is broken. The trial is not measured, if the Api is known and the arguments fit.
        """

    async def simulate_like(
        self,
        api: Api | None,
        ref: str,
        arguments: dict[str, Json],
        examples: Sequence[Example],  # noqa: ARG002
    ) -> Simulation:
        """Answer one call, given answers that the Api gave to other inputs.

        Raises:
            SimulationError: no answer can be given; becomes an API error.
        """
        return await self.simulate(api, ref, arguments)
