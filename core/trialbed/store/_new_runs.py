"""Makes the record of a run that has not begun."""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime

from trialbed.installed import installed_packages
from trialbed.records import Run, RunConfig


def new_run(config: RunConfig, config_digest: str) -> Run:
    """A run of this configuration that has not begun."""
    lines = installed_packages()
    return Run(
        run_id=new_run_id(),
        config=config,
        config_digest=config_digest,
        status="running",
        created_at=datetime.now(UTC),
        environment_digest=environment_digest(lines),
        environment=lines,
    )


def new_run_id() -> str:
    """A run's id: the UTC time, so that ids sort, and six random hex digits, so that they are unique."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def environment_digest(lines: tuple[str, ...]) -> str:
    """SHA-256 over the lines of ``installed_packages()``."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
