"""The identity of a run, and the seeds and names that follow from it."""

from __future__ import annotations

import hashlib
import json
import secrets

from trialbed.records import RunConfig, TrialKey

SEED_BITS = 31
"""Seeds stay below 2**31: every framework and vendor accepts those."""


def config_digest(config: RunConfig) -> str:
    """SHA-256 of the configuration as canonical JSON; the same command resumes the run with the same digest.

    A setting counts only where it differs from its default, so that a run is the same as before one was added.
    """
    values = config.model_dump(mode="json", exclude_defaults=True)
    text = json.dumps(values, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def trial_seed(run_seed: int, key: TrialKey) -> int:
    """The trial's own seed in [0, 2**31), from (run seed, query, repeat) and nothing else.

    It is the same for every framework: a model that samples answers equal requests of two frameworks equally.
    """
    text = json.dumps([run_seed, key.query_id, key.repeat], ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)


def new_trial_token() -> str:
    """A token for a trial's URLs: unguessable, since it is their only protection."""
    return secrets.token_urlsafe(15)
