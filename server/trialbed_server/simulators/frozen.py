"""No simulation: a call that is not in the cache is an error."""

from __future__ import annotations

from typing import ClassVar

from trialbed.contracts import Simulation, Simulator
from trialbed.errors import SimulationError
from trialbed.records import Api, Json


class FrozenSimulator(Simulator):
    """Answers nothing, so that a run can show that its cache is enough.

    The virtual API uses every cached answer for it, of whatever origin, and names the nearest cached inputs
    if there is no answer.
    """

    provenance: ClassVar[str] = "none"

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:  # noqa: ARG002
        """Refuse.

        Raises:
            SimulationError: always.
        """
        raise SimulationError(f"{ref}: not in the cache, and the simulator 'none' gives no answers")
