"""The identity of a run, and the seeds and names that follow from it."""

from __future__ import annotations

import hashlib
import json
import secrets

from trialbed.records import RunConfig, TrialKey

FIRST_FIELDS = frozenset(
    (
        "adapter_versions",
        "base_url",
        "dataset",
        "dataset_digest",
        "frameworks",
        "judge",
        "judge_votes",
        "max_steps",
        "max_tokens",
        "max_tools",
        "model",
        "query_ids",
        "repeat",
        "seed",
        "selector",
        "temperature",
        "test_set",
        "timeout",
        "trialbed_version",
    )
)
"""The fields of the configuration in version 0.1.0.

A setting that is added later counts only where it differs from its default: otherwise, a run is the same as before.
"""

ZERO_BY_DEFAULT = {"reference"}
"""Frameworks that send the temperature 0 if the user gives none, which was the default of every run in 0.1.0."""

SEED_BITS = 31
"""Seeds stay below 2**31: every framework and vendor accepts those."""


def config_digest(config: RunConfig) -> str:
    """SHA-256 of the configuration as canonical JSON; the same command resumes the run with the same digest.

    The form of the JSON is that of version 0.1.0, so that a run that an older version began is found.
    """
    later = {name: field.default for name, field in type(config).model_fields.items() if name not in FIRST_FIELDS}
    unset = {name for name, default in later.items() if getattr(config, name) == default}
    if not config.catalog:  # the dataset's own, which was not told before
        unset |= {"catalog_digest", "catalog_apis"}
    values = config.model_dump(mode="json", exclude=unset)
    if values["temperature"] is None and set(config.frameworks) == ZERO_BY_DEFAULT:
        values["temperature"] = 0.0
    values["limits"] = {name: values.pop(name) for name in ("max_steps", "timeout")}
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
