"""Digests of setups' model requests, to recognise equal requests."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from trialbed.records import TrialResult
from trialbed.store import StoredRun
from trialbed_plugins.recordings import canonical_text, requests_of


def request_digests(run: StoredRun) -> Mapping[str, str]:
    """Return a digest of each setup's requests to the model, in the form that recordings compare.

    Setups with a request that is too long for the log are left out.

    Raises:
        DataError: a wire log cannot be read.
    """
    asked: dict[str, dict[tuple[str, int], str]] = {}
    for trial in run.each_counted():
        key = trial.key
        asked.setdefault(key.framework, {})[str(key.query_id), key.repeat] = _digest(run, trial)
    return {
        label: hashlib.sha256("\n".join(own[place] for place in sorted(own)).encode()).hexdigest()
        for label, own in asked.items()
        if all(own.values())
    }


def _digest(run: StoredRun, trial: TrialResult) -> str:
    """Return the digest of a trial's requests; empty if one is not completely known."""
    found = hashlib.sha256()
    for _, request in requests_of(trial, run.config.cell(trial.key.framework)):
        if request is None:
            return ""
        found.update(canonical_text(request).encode("utf-8", "surrogatepass") + b"\n")
    return found.hexdigest()
