"""Published facts that only the trials themselves have: who sent equal requests, and who gave up."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from trialbed.records import TrialKey, TrialResult
from trialbed.store import StoredRun
from trialbed_plugins.recordings import canonical_text, requests_of


@dataclass(frozen=True)
class TrialTraces:
    """Facts of a run's trials.

    Attributes:
        requests: set-up -> digest of all requests of its trials to the model, as recordings compare them; without
            set-ups of which a request is too long for the log.
        gave_up: the trials whose answer is that the agent gives up.
    """

    requests: Mapping[str, str] = field(default_factory=dict)
    gave_up: frozenset[TrialKey] = frozenset()


def traces_of(run: StoredRun) -> TrialTraces:
    """Read the facts of a run, trial by trial, from its log alone, which whoever reproduces it has too.

    Raises:
        DataError: a wire log cannot be read.
    """
    asked: dict[str, dict[tuple[str, int], str]] = {}
    gave_up: set[TrialKey] = set()
    for trial in run.each_counted():
        key = trial.key
        asked.setdefault(key.framework, {})[str(key.query_id), key.repeat] = _digest(run, trial)
        answer = trial.outcome.answer
        if answer is not None and answer.finish == "give_up_and_restart":
            gave_up.add(key)
    requests = {
        label: hashlib.sha256("\n".join(own[place] for place in sorted(own)).encode()).hexdigest()
        for label, own in asked.items()
        if all(own.values())
    }
    return TrialTraces(requests, frozenset(gave_up))


def _digest(run: StoredRun, trial: TrialResult) -> str:
    """Return the digest of a trial's requests; empty where one is not known whole."""
    found = hashlib.sha256()
    for _, request in requests_of(trial, run.config.cell(trial.key.framework)):
        if request is None:
            return ""
        found.update(canonical_text(request).encode("utf-8", "surrogatepass") + b"\n")
    return found.hexdigest()
