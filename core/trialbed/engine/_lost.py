"""The trials of a run that were lost with their nodes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from trialbed.records import TrialKey, TrialResult
from trialbed.store import Store

MOST_LOST = 5
"""Times that a trial is lost before the session leaves it: it may be what costs the nodes."""


class LostTrials:
    """Counts them, and says which run again.

    Args:
        counts: node -> those of earlier sessions.
        say: is given a line for each node that is lost.
    """

    def __init__(self, store: Store, run_id: str, counts: Mapping[str, int], say: Callable[[str], None]) -> None:
        self._store = store
        self._run_id = run_id
        self._counts = Counter(counts)
        self._say = say
        self._said: set[str] = set()
        self._times: Counter[TrialKey] = Counter()
        self._again: set[tuple[TrialKey, int]] = set()

    @property
    def counts(self) -> dict[str, int]:
        """Node -> how many were lost with it, over all sessions."""
        return dict(self._counts)

    @staticmethod
    def was_lost(result: TrialResult) -> bool:
        """Return whether this attempt ended with its node."""
        return result.outcome.failure is not None and result.outcome.failure.kind == "lost"

    async def count(self, result: TrialResult) -> bool:
        """Count a trial, if it was lost, and return whether it runs again."""
        failure = result.outcome.failure
        if failure is None or not self.was_lost(result):
            return False
        self._counts[result.outcome.node] += 1
        await asyncio.to_thread(partial(self._store.update_run, self._run_id, lost=self.counts))
        if result.outcome.node not in self._said:
            self._said.add(result.outcome.node)
            self._say(f"{failure.message}; its trials run again")
        self._times[result.key] += 1
        if self._times[result.key] >= MOST_LOST:
            return False
        self._again.add((result.key, result.attempt))
        return True

    def runs_again(self, result: TrialResult) -> bool:
        """Return whether this attempt was lost, and the trial has begun anew."""
        return (result.key, result.attempt) in self._again

    def in_words(self) -> str:
        """Say how many trials were lost; nothing where none was."""
        count = sum(self._counts.values())
        if not count:
            return ""
        trials = "1 trial was lost with its node" if count == 1 else f"{count} trials were lost with their nodes"
        return f"{trials}: {', '.join(f'{node} {number}' for node, number in sorted(self._counts.items()))}"
