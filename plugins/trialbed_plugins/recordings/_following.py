"""Compare trials with a recording, and find the first divergence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trialbed.records import TrialKey, TrialResult
from trialbed.store import StoredRun
from trialbed_plugins.recordings._cassette import Cassette
from trialbed_plugins.recordings._difference import RequestDifference, differences, nearest
from trialbed_plugins.recordings._key import canonical_text
from trialbed_plugins.recordings._mask import apply_masks
from trialbed_plugins.recordings._of_run import requests_of


@dataclass(frozen=True)
class Following:
    """One trial compared with a recording.

    Attributes:
        requests: the number of its requests.
        left: the number of the first unrecorded request, from 1; None if all were recorded.
        difference: the difference of that request from the most similar recorded one; None without a similar one.
    """

    key: TrialKey
    requests: int
    left: int | None = None
    difference: RequestDifference | None = None


def followings(run: StoredRun, cassettes: Mapping[str, Cassette]) -> Iterator[Following]:
    """Compare each trial of a run with a recording, framework by framework, in the order of the queries.

    Args:
        cassettes: the recording for each framework. Other frameworks are skipped.
    """
    for trial in run.each_counted():
        cassette = cassettes.get(trial.key.framework)
        if cassette is not None:
            yield _following(trial, run, cassette)


def _following(trial: TrialResult, run: StoredRun, cassette: Cassette) -> Following:
    key = trial.key
    found = requests_of(trial, run.config.cell(trial.key.framework), cassette.told, cassette.model)
    requests = [None if request is None else apply_masks(request, cassette.ignored) for _, request in found]
    answered: Counter[str] = Counter()
    for number, request in enumerate(requests, 1):
        text = canonical_text(request or {})
        if request is None or cassette.find(text, seed=trial.seed, occurrence=answered[text]) is None:
            return Following(key, len(requests), number, _difference(request, trial.seed, cassette))
        answered[text] += 1
    return Following(key, len(requests))


def _difference(request: dict[str, Any] | None, seed: int, cassette: Cassette) -> RequestDifference | None:
    if request is None:
        return None
    candidate = nearest(request, (reply.request for reply in cassette.of_seed(seed)))
    return None if candidate is None else next(differences(candidate, request), None)


def by_difference(trials: Sequence[Following]) -> list[tuple[Following, int]]:
    """Return the first trial for each difference from the recording and the number of these, most frequent first."""
    first: dict[RequestDifference | None, Following] = {}
    counts: Counter[RequestDifference | None] = Counter()
    for trial in trials:
        if trial.left is not None:
            first.setdefault(trial.difference, trial)
            counts[trial.difference] += 1
    return [(first[difference], count) for difference, count in counts.most_common()]
