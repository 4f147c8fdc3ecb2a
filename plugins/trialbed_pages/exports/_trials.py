"""The trials of a run one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from trialbed.records import TrialResult
from trialbed.store import StoredRun


def each_trial(run: StoredRun) -> Iterator[TrialResult]:
    """The trials that count, whole, in the order of the queries: one at a time, as their wire logs may be large."""
    places = {query_id: place for place, query_id in enumerate(run.config.query_ids)}
    frameworks = {framework: place for place, framework in enumerate(run.config.frameworks)}
    left = deque(
        sorted(
            run.trials(),
            key=lambda trial: (frameworks[trial.key.framework], places[trial.key.query_id], trial.key.repeat),
        )
    )
    while left:
        yield left.popleft().result
