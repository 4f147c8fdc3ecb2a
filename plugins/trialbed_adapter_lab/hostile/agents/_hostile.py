"""The adapter that carries out every attack."""

from __future__ import annotations

import asyncio
import json
import os
import urllib.request
from typing import Any

from trialbed import Deviation
from trialbed_adapter_lab.hostile.agents._base import Base, done
from trialbed_adapter_lab.hostile.agents._ends import Answers, Crashes, Exceptions, Hangs
from trialbed_adapter_lab.hostile.agents._leftovers import Clocks, Leftovers
from trialbed_adapter_lab.hostile.agents._output import Memory, Output
from trialbed_adapter_lab.hostile.agents._processes import Processes

ASKS = "HOSTILE_ASKS"
"""Variable; where it is set, the agent asks the model before it does harm."""


class Hostile(Crashes, Hangs, Exceptions, Answers, Processes, Output, Memory, Leftovers, Clocks, Base):
    """Carries out the attack that the query names, with spaces for underscores; ``good`` does no harm."""

    deviations = (Deviation(text="does harm"),)

    async def answer(self, query: str) -> Any:
        """Carry out an attack."""
        if ASKS in os.environ:
            await asyncio.to_thread(self._ask, query)
        return await getattr(self, query.replace(" ", "_"))()

    def _ask(self, query: str) -> None:
        """Send one request to the model, after which no failure can be an earlier trial's."""
        body = {"model": self.endpoint.model, "messages": [{"role": "user", "content": query}]}
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.endpoint.api_key}"}
        url = f"{self.endpoint.base_url}/chat/completions"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - of this run's server
        urllib.request.urlopen(request).read()  # noqa: S310

    async def good(self) -> Any:
        """Answer."""
        return done()
