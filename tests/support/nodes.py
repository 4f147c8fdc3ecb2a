"""An executor of several nodes of this machine, which are lost and join while a run goes on."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from trialbed.contracts import Executor, LostTrial
from trialbed.errors import NothingMeasured
from trialbed.records import Environment, FrameworkInfo, Outcome, TrialSpec
from trialbed_plugins.executors.local import LocalExecutor


class NodesExecutor(Executor):
    """Runs trials in workers of this machine, as if they were on several.

    Args:
        capacities: name -> trials at once. Default: two nodes.
        on_begin: called with this and the number of trials that have begun, as each begins.

    Attributes:
        ran: node -> how many of its trials ended.
        changed: the fields of every description that are other than on this machine.
    """

    reuses_workers = True
    remote = True

    def __init__(
        self,
        capacities: Mapping[str, int] | None = None,
        on_begin: Callable[[NodesExecutor, int], None] | None = None,
        *,
        environments: Mapping[str, Environment] | None = None,
    ) -> None:
        super().__init__(environments=environments)
        self._inner = LocalExecutor(environments=environments)
        self.capacities = dict({"east": 1, "west": 2} if capacities is None else capacities)
        self.ran: Counter[str] = Counter()
        self.changed: dict[str, Any] = {}
        self._on_begin = on_begin
        self._begun = 0
        self._busy: Counter[str] = Counter()
        self._lost: dict[str, asyncio.Event] = {}

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._inner.__aexit__(kind, error, trace)

    def connect(self, server_url: str) -> None:
        """Tell the workers."""
        self._inner.waited = self.waited
        self._inner.connect(server_url)

    def end(self, node: str) -> None:
        """End a node at once."""
        self.capacities.pop(node, None)
        self._lost.pop(node, asyncio.Event()).set()

    async def describe(self, framework: str) -> FrameworkInfo:
        """What a worker says, with what is other on these nodes."""
        return (await self._inner.describe(framework)).model_copy(update=self.changed)

    async def execute(self, spec: TrialSpec) -> Outcome | LostTrial:
        """Run a trial on the node with most room."""
        self._begun += 1
        if self._on_begin is not None:
            self._on_begin(self, self._begun)
        places = {name: room - self._busy[name] for name, room in self.capacities.items()}
        if not places:
            raise NothingMeasured("no node was left")
        node = max(places, key=places.__getitem__)
        lost = self._lost.setdefault(node, asyncio.Event())
        work, end = asyncio.ensure_future(self._inner.execute(spec)), asyncio.ensure_future(lost.wait())
        self._busy[node] += 1
        try:
            await asyncio.wait([work, end], return_when=asyncio.FIRST_COMPLETED)
            if lost.is_set():
                return LostTrial(node, "its plug was pulled")
            self.ran[node] += 1
            return (await work).model_copy(update={"node": node})
        finally:
            self._busy[node] -= 1
            for task in (work, end):
                task.cancel()
            await asyncio.gather(work, end, return_exceptions=True)
