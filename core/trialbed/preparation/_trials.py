"""The trials of a run, in their order, with their seeds, and those that are due."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, overload

from trialbed.records import RunConfig, TrialKey

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
    return [trial_key(config, number) for number in range(count_trials(config))]


def count_trials(config: RunConfig) -> int:
    """Return how many trials a run has."""
    return config.repeat * len(config.query_ids) * len(config.frameworks)


def trial_key(config: RunConfig, number: int) -> TrialKey:
    """The trial of a run at this place among ``trial_keys``."""
    own, every = len(config.frameworks), len(config.query_ids)
    place, turn = divmod(number, own)
    repeat, query = divmod(place, every)
    framework = config.frameworks[(query + repeat + turn) % own]
    return TrialKey(framework=framework, query_id=config.query_ids[query], repeat=repeat)


def trial_number(config: RunConfig, key: TrialKey) -> int | None:
    """Return the place of a trial among ``trial_keys``; None where the run has no such trial."""
    own, query = len(config.frameworks), config.query_ids.places.get(key.query_id)
    if query is None or key.framework not in config.frameworks or key.repeat >= config.repeat:
        return None
    turn = (config.frameworks.index(key.framework) - query - key.repeat) % own
    return (key.repeat * len(config.query_ids) + query) * own + turn


class DueTrials(Sequence[tuple[TrialKey, int]]):
    """Trials that are due, each with the number of its next attempt; they are made when they are looked at."""

    def __init__(self, config: RunConfig, numbers: Sequence[int], attempts: Mapping[int, int]) -> None:
        self._config = config
        self._numbers = numbers
        self._attempts = attempts

    @overload
    def __getitem__(self, place: int) -> tuple[TrialKey, int]: ...

    @overload
    def __getitem__(self, place: slice) -> DueTrials: ...

    def __getitem__(self, place: int | slice) -> Any:
        """The trial at a place, or those of a part."""
        if isinstance(place, slice):
            return DueTrials(self._config, self._numbers[place], self._attempts)
        number = self._numbers[place]
        return trial_key(self._config, number), self._attempts.get(number, 0)

    def __len__(self) -> int:
        """Their number."""
        return len(self._numbers)
