"""The contract of a simulator of Apis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from trialbed.records import Api, Json, Record

if TYPE_CHECKING:
    from trialbed.model_access import ModelAccess


class Simulation(Record):
    """The answer of a simulated Api: ``error`` is empty on success. An error is never cached."""

    response: Json = ""
    error: str = ""


class Simulator(ABC):
    """Answers for Apis that neither the cache nor a real endpoint answers for.

    A driver of the group ``trialbed.simulators`` is a subclass that takes no arguments.

    Class attributes:
        provenance: how its answers are marked in the cache and the wire log (``template``, ``llm:<model>``).
        model: the model that it may ask (``--simulator-model``), set before its first answer; None if the user names
            none.
    """

    provenance: ClassVar[str]
    model: ModelAccess | None = None

    def revision(self, api: Api | None) -> str:  # noqa: ARG002 - simulators override it
        """A text that changes whenever a stored answer for this Api would no longer be given.

        Stored answers of another revision are not used. Empty: stored answers stay valid forever.
        """
        return ""

    @abstractmethod
    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:
        """Answer one call.

        Args:
            api: the Api's documentation, None where it is unknown.
            ref: ``category/tool_name/api_name`` as asked for, to name it in errors.
            arguments: the parsed input.

        Raises:
            SimulationError: no answer can be given; becomes an API error.
        """
