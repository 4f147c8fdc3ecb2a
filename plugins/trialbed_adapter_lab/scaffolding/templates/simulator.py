"""A simulator of Apis; each place to change is marked REPLACE."""

from __future__ import annotations

from trialbed.contracts import Simulation, Simulator
from trialbed.records import Api, Json


class NewPluginSimulator(Simulator):
    """Answers every call with its own arguments."""

    provenance = "new-plugin"

    def revision(self, api: Api | None) -> str:
        """Change this text whenever a stored answer would no longer be given."""
        return "1"

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:
        """Answer one call; equal calls must have equal answers."""
        # REPLACE: the question is the answer.
        return Simulation(response={"api": ref, "asked": arguments})
