"""The use that the helpers of a session make of their models, as the store keeps it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

from trialbed.engine._background import meanwhile
from trialbed.engine._control import ControlClient
from trialbed.errors import NothingMeasured
from trialbed.models import HelperModels
from trialbed.preparation import RunOptions
from trialbed.records import HelperUse, Run, added_uses
from trialbed.store import Store
from trialbed.wire.addresses import split_address

KEPT_EVERY = 5.0
"""Seconds between two times that the use is stored, because a session may be killed."""


@dataclass
class KeptUse:
    """The use of helpers over all sessions of a run.

    Args:
        found: the use that was stored last.
    """

    options: RunOptions
    store: Store
    run: Run
    found: Sequence[HelperUse]
    _served: Sequence[HelperUse] = field(default=(), init=False)

    def so_far(self, helpers: HelperModels) -> tuple[HelperUse, ...]:
        """Return the use in all sessions until now; for simulators and users it is some seconds old."""
        return added_uses(self.run.helpers, [*helpers.uses(), *self._served])

    @asynccontextmanager
    async def keep_within(self, helpers: HelperModels, control: ControlClient) -> AsyncIterator[None]:
        """Keep the use within this context, and once more at its end."""
        try:
            async with meanwhile(self._keep_again(helpers, control)):
                yield
        finally:
            await self._keep(helpers, control)

    async def _keep_again(self, helpers: HelperModels, control: ControlClient) -> None:
        while True:
            await asyncio.sleep(KEPT_EVERY)
            await self._keep(helpers, control)

    async def _keep(self, helpers: HelperModels, control: ControlClient) -> None:
        options = self.options
        models = {"simulator": options.simulator_model, "user": options.user_model}
        if any(models.values()) and options.server_url is None:
            with suppress(NothingMeasured):  # the server has ended, and why is said elsewhere
                asked = await control.helper_uses()
                self._served = [
                    helpers.use_of(role, split_address(models[role] or "")[0], use)
                    for role, use in asked
                    if use.requests or use.cached
                ]
        if (found := self.so_far(helpers)) != self.found:
            self.found = found
            await asyncio.to_thread(partial(self.store.update_run, self.run.run_id, helpers=found))
