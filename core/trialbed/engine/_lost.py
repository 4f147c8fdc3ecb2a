"""The trials of a run that were lost with their nodes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from trialbed.records import TrialKey, TrialResult
from trialbed.store import Store

MOST_LOST = 5
"""Times that a trial is lost before the session leaves it: it may be what costs the nodes."""


@dataclass
class LostTrials:
    """Counts them, and says which run again.

    Args:
        counts: node -> how many were lost with it, over all sessions.
        say: is given a line for each node that is lost.
    """

    store: Store
    run_id: str
    counts: Counter[str]
    say: Callable[[str], None]
    _said: set[str] = field(default_factory=set, init=False)
    _times: Counter[TrialKey] = field(default_factory=Counter, init=False)
    _again: set[tuple[TrialKey, int]] = field(default_factory=set, init=False)

    @staticmethod
    def was_lost(result: TrialResult) -> bool:
        """Return whether this attempt ended with its node."""
        return result.outcome.failure is not None and result.outcome.failure.kind == "lost"

    async def count(self, result: TrialResult) -> bool:
        """Count a trial, if it was lost, and return whether it runs again."""
        failure = result.outcome.failure
        if failure is None or not self.was_lost(result):
            return False
        self.counts[result.outcome.node] += 1
        await asyncio.to_thread(partial(self.store.update_run, self.run_id, lost=dict(self.counts)))
        if result.outcome.node not in self._said:
            self._said.add(result.outcome.node)
            self.say(f"{failure.message}; its trials run again")
        self._times[result.key] += 1
        if self._times[result.key] >= MOST_LOST:
            return False
        self._again.add((result.key, result.attempt))
        return True

    def runs_again(self, result: TrialResult) -> bool:
        """Return whether this attempt was lost, and the trial has begun anew."""
        return (result.key, result.attempt) in self._again
