"""The trials of a run, in their order, with their seeds, and those that are due."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable

from trialbed.preparation._options import RunOptions
from trialbed.records import RunConfig, TrialKey
from trialbed.store import AttemptSummary, counted_attempts

SEED_BITS = 31
"""Seeds stay below 2**31: every framework and vendor accepts those."""


def trial_seed(run_seed: int, key: TrialKey) -> int:
    """The trial's own seed in [0, 2**31), from (run seed, query, repeat) and nothing else.

    It is the same for every framework: a model that samples answers equal requests of two frameworks equally.
    """
    text = json.dumps([run_seed, key.query_id, key.repeat], ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)


def trial_keys(config: RunConfig) -> list[TrialKey]:
    """Every trial of a run, query by query with the frameworks side by side.

    So an interrupted run has its frameworks compared on the same queries, and what changes while a run
    lasts changes for all of them. They take turns at being first: the first to call an Api waits for its
    answer to be made, the others find it in the cache.
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


class TrialEnds:
    """The ends of the attempts of a run so far.

    Attributes:
        measured: the frameworks of which trials were measured.
        current: those of which trials were measured with the code that their adapters have now.
    """

    def __init__(self, config: RunConfig, attempts: Iterable[AttemptSummary]) -> None:
        self._config = config
        self._attempts: dict[TrialKey, list[AttemptSummary]] = defaultdict(list)
        self.measured: set[str] = set()
        self.current: set[str] = set()
        for attempt in attempts:
            self._attempts[attempt.key].append(attempt)
            if attempt.status != "not measured":
                self.measured.add(attempt.key.framework)
                if self._is_of_current_code(attempt):
                    self.current.add(attempt.key.framework)

    def due(self, options: RunOptions) -> list[tuple[TrialKey, int]]:
        """Return the trials that are due, in the order in which they run, each with the number of its next attempt.

        Those are due that were never measured. With ``retry_failed`` also those that failed, unless one was answered
        by today's code of its adapter: a further answer would change nothing.
        """
        due: list[tuple[TrialKey, int]] = []
        for key in trial_keys(self._config):
            own = self._attempts.get(key, [])
            is_due = all(attempt.status == "not measured" for attempt in own)
            if not is_due and options.retry_failed and counted_attempts(own)[0].status == "failed":
                answered = [attempt for attempt in own if attempt.status == "answered"]
                is_due = not any(map(self._is_of_current_code, answered))
            if is_due:
                due.append((key, max((attempt.attempt for attempt in own), default=-1) + 1))
        return due

    def _is_of_current_code(self, attempt: AttemptSummary) -> bool:
        framework = self._config.cell(attempt.key.framework).framework
        return attempt.adapter_digest == self._config.adapter_digests.get(framework, "")
