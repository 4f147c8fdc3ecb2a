"""Runs as rows."""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime
from typing import Any, TypedDict

from sqlalchemy import Connection, select

from trialbed.errors import DataError
from trialbed.installed import installed_packages
from trialbed.records import (
    EndpointInfo,
    FrameworkInfo,
    HelperUse,
    Json,
    Prices,
    Run,
    RunConfig,
    RunStatus,
    ScoreDescription,
    framework_name,
)
from trialbed.store._rows import decode_record, encode
from trialbed.store._schema import runs

MOST_NAMED = 5
"""Runs that a message lists."""


class RunChanges(TypedDict, total=False):
    """The fields of a run that change while it runs, and later; as in ``Run``."""

    status: RunStatus
    config: RunConfig
    config_digest: str
    server_url: str
    overall_time: float
    frameworks: tuple[FrameworkInfo, ...]
    judge: dict[str, Json]
    scores: dict[str, ScoreDescription]
    tags: tuple[str, ...]
    note: str
    against: str | None
    margin: float
    prices: dict[str, Prices]
    helpers: tuple[HelperUse, ...]
    endpoints: tuple[EndpointInfo, ...]
    lost: dict[str, int]
    on_nodes: bool
    over_budget: bool


def read_run(connection: Connection, run_id: str, *, lock: bool = False) -> Run:
    """Read the run with this id; with its lock, others cannot change it until the transaction ends."""
    query = select(runs.c.record).where(runs.c.run_id == run_id)
    record = connection.scalar(query.with_for_update() if lock else query)
    if record is None:
        raise no_run(connection, run_id)
    return decode_record(Run, record)


def no_run(connection: Connection, name: str) -> DataError:
    """Return the error of a run that the store does not have; it lists others."""
    newest = connection.execute(select(runs).order_by(runs.c.created.desc()).limit(MOST_NAMED)).all()
    known = ", ".join(row.run_id for row in newest)
    found = f"its latest runs are {known}" if known else "it has no runs yet; `bench run` creates one"
    return DataError(f"the store has no run {name!r}; {found}")


def fits(config: RunConfig, framework: str | None, model: str | None, dataset: str | None) -> bool:
    """Return whether a run is of this framework, model and dataset; None is any."""
    labels = {label for own in config.frameworks for label in (own, framework_name(own))}
    return (
        (framework is None or framework in labels)
        and (model is None or model in config.models)
        and (dataset is None or dataset in (config.dataset, config.named_dataset, config.test_set))
    )


def run_row(run: Run) -> dict[str, Any]:
    """Return the row of a run."""
    return {
        "run_id": run.run_id,
        "config_digest": run.config_digest,
        "status": run.status,
        "created": run.created_at.timestamp(),
        "record": encode(run.model_dump()),
    }


def new_run(config: RunConfig, config_digest: str) -> Run:
    """A run of this configuration that has not begun."""
    lines = installed_packages()
    return Run(
        # The time makes ids sortable, and some random digits make them unique.
        run_id=f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}",
        config=config,
        config_digest=config_digest,
        status="running",
        created_at=datetime.now(UTC),
        environment_digest=hashlib.sha256("\n".join(lines).encode()).hexdigest(),
        environment=lines,
    )
