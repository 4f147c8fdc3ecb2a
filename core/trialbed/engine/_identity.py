"""What makes two runs the same, and the seeds that follow from it."""

from __future__ import annotations

import hashlib
import json
import secrets
from datetime import UTC, datetime

from trialbed.records import RunConfig, TrialKey

SEED_BITS = 31
"""Seeds stay below 2**31: every framework and vendor accepts those."""


def config_digest(config: RunConfig) -> str:
    """SHA-256 of the configuration as canonical JSON; the same command resumes the run with the same digest."""
    text = json.dumps(config.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def trial_seed(run_seed: int, key: TrialKey) -> int:
    """The trial's own seed in [0, 2**31), from (run seed, framework, query, repeat) and nothing else."""
    text = json.dumps([run_seed, key.framework, key.query_id, key.repeat], ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)


def new_run_id() -> str:
    """A run's name: the UTC time, so that names sort, and six random hex digits, so that none meet."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def new_trial_token() -> str:
    """A token for a trial's URLs: unguessable, since nothing else guards them."""
    return secrets.token_urlsafe(15)


def environment_digest(lines: tuple[str, ...]) -> str:
    """SHA-256 over the lines of ``installed_packages()``."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
