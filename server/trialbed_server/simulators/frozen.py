"""Answer from the cache only; every other call is an error."""

from __future__ import annotations

from typing import ClassVar

from trialbed.contracts import Simulation, Simulator
from trialbed.errors import SimulationError
from trialbed.records import Api, Json


class FrozenSimulator(Simulator):
    """Never answer, to show that a run's cache is enough.

    The virtual API uses every cached answer for it, of any origin, and names the nearest cached inputs if it finds no
    answer.
    """

    provenance: ClassVar[str] = "none"

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:  # noqa: ARG002
        """Refuse.

        Raises:
            SimulationError: always.
        """
        raise SimulationError(f"{ref}: not in the cache, and the simulator 'none' gives no answers")
