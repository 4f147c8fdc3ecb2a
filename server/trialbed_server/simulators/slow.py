"""Answers that take their time."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from trialbed.contracts import Simulation
from trialbed.records import Api, Json
from trialbed_server.simulators.template import TemplateSimulator

DELAY = 0.5
"""Seconds that every answer takes."""


class SlowSimulator(TemplateSimulator):
    """As ``template``, half a second later, which shows whether calls overlap.

    An answer that is in the response cache comes at once.
    """

    provenance: ClassVar[str] = "slow"

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:
        """Answer one call."""
        await asyncio.sleep(DELAY)
        return await super().simulate(api, ref, arguments)
