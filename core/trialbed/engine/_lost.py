"""The trials of a run that were lost with their nodes."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from trialbed.records import TrialKey, TrialResult
from trialbed.store import Store

MOST_LOST = 5
"""Times that a trial is lost before the session leaves it: it may be what costs the nodes."""

MOST_LOSSES = 20
"""Losses of a node that are kept to find their causes."""


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


@dataclass
class LostInARow:
    """Counts the trials that a node has lost since it ran one to its end.

    Those that are lost at the same time are one loss, as they have one cause; so are the losses that one trial was in,
    as it may be the cause itself.
    """

    _losses: defaultdict[str, deque[set[TrialKey]]] = field(
        default_factory=partial(defaultdict, partial(deque, maxlen=MOST_LOSSES)), init=False
    )
    _last: dict[str, datetime] = field(default_factory=dict, init=False)

    def count(self, result: TrialResult) -> int:
        """Count a trial, and return how many its node has lost in a row."""
        outcome = result.outcome
        if not LostTrials.was_lost(result):
            self._losses.pop(outcome.node, None)
        elif outcome.node not in self._last or outcome.started_at >= self._last[outcome.node]:
            self._losses[outcome.node].append({result.key})
            self._last[outcome.node] = outcome.started_at + timedelta(seconds=outcome.wall_time)
        elif self._losses[outcome.node]:
            self._losses[outcome.node][-1].add(result.key)
        return _fewest_causes(self._losses[outcome.node])

    def forget(self, node: str) -> None:
        """Begin to count anew."""
        self._losses.pop(node, None)


def _fewest_causes(losses: Iterable[set[TrialKey]]) -> int:
    """How many trials explain all losses, if the one that was in most of them is taken first."""
    left, count = list(losses), 0
    while left:
        [(cause, _)] = Counter(key for loss in left for key in loss).most_common(1)
        left = [loss for loss in left if cause not in loss]
        count += 1
    return count
