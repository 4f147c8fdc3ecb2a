"""The lanes of a session: trials side by side, each committed as it ends."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from trialbed.engine._lost import LostTrials
from trialbed.engine._nodes import NodeWatch
from trialbed.engine._offers import ToolsNotChosen
from trialbed.engine._outage import Outage
from trialbed.engine._progress import RunProgress
from trialbed.engine._slots import NoNodeLeft
from trialbed.engine._trial import TrialRunner
from trialbed.records import TrialKey, TrialResult
from trialbed.store import Commits, Store

Committed = Callable[[Sequence[TrialResult]], object]
"""Is called with trials once they are committed, in a thread."""


class Lanes:
    """Runs trials and commits them, those that were not measured a second time once the others have ended.

    Args:
        slots: how many agents work at once.
        ambient: whether trials are open one at a time.
        nodes: looks for lost nodes, and for those that lose many trials.
        ended: is told of each trial that is committed.
        committed: called with several of them, in a thread.
    """

    def __init__(
        self,
        store: Store,
        run_id: str,
        *,
        slots: int,
        ambient: bool,
        outage: Outage,
        lost: LostTrials,
        nodes: NodeWatch,
        progress: RunProgress,
        ended: Callable[[TrialResult], None],
        committed: Committed | None = None,
    ) -> None:
        self._store = store
        self._run_id = run_id
        # Twice as many lanes as slots: while one lane's agent works, another opens, scores or commits its trial.
        # Ambient trials are open one at a time, so for them there is nothing to overlap.
        self._count = slots * (1 if ambient else 2)
        self._outage = outage
        self._lost = lost
        self._nodes = nodes
        self._progress = progress
        self._ended = ended
        self._committed = committed
        self._unmeasured: dict[TrialKey, int] = {}
        self._not_chosen: Exception | None = None

    async def run(self, runner: TrialRunner, todo: Sequence[tuple[TrialKey, int]]) -> None:
        """Run trials until all have ended, or none can be measured any more.

        Where the tools of one cannot be chosen, those that are under way end and are committed before that is raised.
        """
        await self._run(runner, todo)
        again, self._unmeasured = self._unmeasured, {}
        if again and self._outage.measured and not self._outage.over:
            self._progress.again(len(again))
            await self._run(runner, list(again.items()))

    async def _run(self, runner: TrialRunner, todo: Sequence[tuple[TrialKey, int]]) -> None:
        queue = deque(todo)
        commits = Commits(self._store, self._run_id, self._note_committed, after=self._committed)
        async with commits.open(), asyncio.TaskGroup() as group:
            for _ in range(self._count):
                group.create_task(self._lane(runner, queue, commits))
        if self._not_chosen is not None:
            raise self._not_chosen

    async def _lane(self, runner: TrialRunner, queue: deque[tuple[TrialKey, int]], commits: Commits) -> None:
        while queue and not self._outage.over and self._not_chosen is None:
            key, attempt = queue.popleft()
            try:
                result = await runner(key, attempt)
            except NoNodeLeft as gone:
                queue.appendleft((key, attempt))
                self._outage.gone = str(gone)
                return
            except ToolsNotChosen as error:
                self._not_chosen = error.reason
                return
            self._outage.note(result)
            self._nodes.note(result)
            if await self._lost.count(result):
                # This lane goes on, so that one is there to take it.
                queue.appendleft((key, attempt + 1))
            await commits.add(result)

    def _note_committed(self, result: TrialResult) -> None:
        failure = result.outcome.failure
        # An answer that was not recorded is not there at a second attempt either; a lost trial has its own attempts.
        if result.status == "not measured" and (failure is None or failure.kind not in ("replay", "lost")):
            self._unmeasured[result.key] = result.attempt + 1
        self._ended(result)
        if not self._lost.runs_again(result):
            self._progress.advance(result)
