"""The trials of a run in their order, their seeds, and the trials that are due."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from trialbed.records import RunConfig, TrialKey
from trialbed.store import AttemptSummary, counted_attempts

SEED_BITS = 31
"""Seeds stay below 2**31, which every framework and vendor accepts."""


def trial_seed(run_seed: int, key: TrialKey) -> int:
    """Return the trial's own seed in [0, 2**31), from (run seed, query, repeat) and nothing else.

    It is the same for every framework: a model that samples answers equal requests of two frameworks equally.
    """
    text = json.dumps([run_seed, key.query_id, key.repeat], ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)


def trial_keys(config: RunConfig) -> list[TrialKey]:
    """Return every trial of a run, query by query with the frameworks side by side.

    So an interrupted run has its frameworks compared on the same queries, and what changes while a run lasts changes
    for all of them. They take turns at being first: the first to call an Api waits for its answer to be made, the
    others find it in the cache.
    """
    names = config.frameworks
    return [
        TrialKey(framework=names[(place + repeat + turn) % len(names)], query_id=query_id, repeat=repeat)
        for repeat in range(config.repeat)
        for place, query_id in enumerate(config.query_ids)
        for turn in range(len(names))
    ]


def count_trials(config: RunConfig) -> int:
    """Return how many trials a run has."""
    return config.repeat * len(config.query_ids) * len(config.frameworks)


class DueTrials(NamedTuple):
    """The trials of a run that are due, in their order, each with the number of its next attempt.

    Attributes:
        measured: the frameworks with measured trials.
        current: the frameworks with trials measured by their adapters' current code.
    """

    trials: list[tuple[TrialKey, int]]
    measured: set[str]
    current: set[str]


def due_trials(config: RunConfig, attempts: Iterable[AttemptSummary], *, retry_failed: bool = False) -> DueTrials:
    """Return the trials that were never measured in the attempts of a run so far.

    ``retry_failed`` adds failed trials, unless one was answered by the adapter's current code. A further answer would
    change nothing.
    """
    digests = {cell.label: config.adapter_digests.get(cell.framework, "") for cell in config.cells}
    found, by_key = DueTrials([], set(), set()), defaultdict[TrialKey, list[AttemptSummary]](list)
    for attempt in attempts:
        label = attempt.key.framework
        by_key[attempt.key].append(attempt)
        if attempt.status != "not measured":
            found.measured.add(label)
            if attempt.adapter_digest == digests[label]:
                found.current.add(label)
    for key in trial_keys(config):
        own = by_key.get(key, [])
        is_due = all(attempt.status == "not measured" for attempt in own)
        if not is_due and retry_failed and counted_attempts(own)[0].status == "failed":
            today = digests[key.framework]
            is_due = not any(attempt.status == "answered" and attempt.adapter_digest == today for attempt in own)
        if is_due:
            found.trials.append((key, max((attempt.attempt for attempt in own), default=-1) + 1))
    return found
