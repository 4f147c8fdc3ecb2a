"""The lanes of a session, which run trials side by side and commit each when it ends."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial

from trialbed.engine._background import RunProgress
from trialbed.engine._failures import Outage
from trialbed.engine._spending import Admission
from trialbed.engine._tools import ToolsNotChosen
from trialbed.engine._trial import TrialRunner
from trialbed.errors import NothingMeasured
from trialbed.records import TrialKey, TrialResult
from trialbed.store import Commits, Store

MOST_LOST = 5
"""How often a trial may be lost before the session skips it, because it may be the cause."""

Committed = Callable[[Sequence[TrialResult]], object]
"""Is called with trials once they are committed, in a thread."""


@dataclass
class Lanes:
    """Runs trials and commits them; unmeasured trials run a second time after the others.

    Args:
        slots: how many agents may work at the same time.
        ambient: whether trials are open one at a time.
        lost: node -> how many trials were lost with it, over all sessions.
        ended: called for each trial that is committed.
        committed: called with several of them, in a thread.
        admission: lets trials begin as far as the budget of the run covers them; None without one.
    """

    store: Store
    run_id: str
    _: KW_ONLY
    slots: int
    ambient: bool
    outage: Outage
    lost: Counter[str]
    progress: RunProgress
    ended: Callable[[TrialResult], None]
    committed: Committed | None = None
    admission: Admission | None = None
    _unmeasured: dict[TrialKey, int] = field(default_factory=dict, init=False)
    _not_chosen: Exception | None = field(default=None, init=False)
    _times_lost: Counter[TrialKey] = field(default_factory=Counter, init=False)
    _again: set[tuple[TrialKey, int]] = field(default_factory=set, init=False)
    _said: set[str] = field(default_factory=set, init=False)

    async def run(self, runner: TrialRunner, todo: Sequence[tuple[TrialKey, int]]) -> None:
        """Run trials until all have ended, or no further trial can be measured.

        If the tools of a trial cannot be chosen, running trials end and are committed before the error is raised.
        """
        repeated = False
        while todo:
            queue = deque(todo)
            commits = Commits(self.store, self.run_id, self._note_committed, after=self.committed)
            async with commits.open(), asyncio.TaskGroup() as group:
                # Twice as many lanes as slots: while one lane's agent works, another opens, scores or commits its
                # trial. Ambient trials are open one at a time, so for them there is nothing to overlap.
                for _ in range(self.slots * (1 if self.ambient else 2)):
                    group.create_task(self._lane(runner, queue, commits))
            if self._not_chosen is not None:
                raise self._not_chosen
            again, self._unmeasured = self._unmeasured, {}
            if repeated or not again or not self.outage.measured or self.outage.over:
                return
            self.progress.again(len(again))
            repeated, todo = True, list(again.items())

    async def _lane(self, runner: TrialRunner, queue: deque[tuple[TrialKey, int]], commits: Commits) -> None:
        while queue and not self.outage.over and self._not_chosen is None:
            key, attempt = queue.popleft()
            if self.admission is not None and not await self.admission.admits(key):
                queue.appendleft((key, attempt))
                self.outage.spent = self.admission.refusal
                return
            result: TrialResult | None = None
            try:
                result = await runner(key, attempt)
            except NothingMeasured as gone:
                queue.appendleft((key, attempt))
                self.outage.gone = str(gone)
                return
            except ToolsNotChosen as error:
                self._not_chosen = error.reason
                return
            finally:
                if self.admission is not None:
                    await self.admission.leave(key, result)
            self.outage.note(result)
            failure = result.outcome.failure
            if failure is not None and failure.kind == "lost":
                await self._count_lost(result.outcome.node, failure.message)
                self._times_lost[key] += 1
                if self._times_lost[key] < MOST_LOST:
                    # This lane goes on, so at least one lane can take it.
                    queue.appendleft((key, attempt + 1))
                    self._again.add((key, attempt))
            commits.put(result)
            await commits.room()

    def _note_committed(self, result: TrialResult) -> None:
        failure = result.outcome.failure
        # An answer that was not recorded is not there at a second attempt either; a lost trial has its own attempts.
        if result.status == "not measured" and (failure is None or failure.kind not in ("replay", "lost")):
            self._unmeasured[result.key] = result.attempt + 1
        self.ended(result)
        if (result.key, result.attempt) not in self._again:
            self.progress.advance(result)

    async def _count_lost(self, node: str, problem: str) -> None:
        self.lost[node] += 1
        await asyncio.to_thread(partial(self.store.update_run, self.run_id, lost=dict(self.lost)))
        if node not in self._said:
            self._said.add(node)
            self.progress.note(f"{problem}; its trials run again")
