"""Runs as rows, with the tools that each of their queries was offered, and the answers to its expected calls."""

from __future__ import annotations

import hashlib
import secrets
import shlex
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypedDict

from sqlalchemy import Connection, Row, select

from trialbed.errors import DataError
from trialbed.installed import installed_packages
from trialbed.records import (
    EndpointInfo,
    FrameworkInfo,
    GoldAnswer,
    HelperUse,
    Json,
    Prices,
    Run,
    RunConfig,
    RunStatus,
    ScoreDescription,
    ToolSpec,
    framework_name,
)
from trialbed.store._blobs import read_bodies
from trialbed.store._rows import (
    IN_ONE,
    decode,
    decode_record,
    encode,
    encode_id,
)
from trialbed.store._schema import gold_answers, runs, selections

LATEST = "latest"
"""The name of the run that began last."""

MOST_NAMED, MOST_SEARCHED = 5, 1000
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
    flights: str
    helpers: tuple[HelperUse, ...]
    endpoints: tuple[EndpointInfo, ...]
    lost: dict[str, int]
    on_nodes: bool
    over_budget: bool


def read_run(connection: Connection, run_id: str, *, lock: bool = False) -> Run:
    """Read the run with this id; with its lock, others cannot change it until the transaction ends."""
    query = select(runs).where(runs.c.run_id == run_id)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    return _require(row, connection, run_id)


def find_run(connection: Connection, named: str) -> Run:
    """Find the run with this id, or with the one id that begins so; the latest run for ``latest``."""
    newest_first = select(runs).order_by(runs.c.created.desc(), runs.c.run_id.desc())
    if named == LATEST:
        return _require(connection.execute(newest_first.limit(1)).one_or_none(), connection, named)
    exact = connection.execute(select(runs).where(runs.c.run_id == named)).one_or_none()
    if exact is not None or not named:
        return _require(exact, connection, named)
    begun = newest_first.where(runs.c.run_id.startswith(named, autoescape=True)).limit(MOST_NAMED + 1)
    found = connection.execute(begun).all()
    if len(found) > 1:
        ids = ", ".join(row.run_id for row in found[:MOST_NAMED])
        more = " …" if len(found) > MOST_NAMED else ""
        raise DataError(f"the ids of several runs begin with {named!r}: {ids}{more}; write more of the one you mean")
    return _require(found[0] if found else None, connection, named)


def each_run(connection: Connection, statuses: Collection[str] = ()) -> Iterator[Run]:
    """Every run, or those of some statuses, latest first."""
    query = select(runs).order_by(runs.c.created.desc(), runs.c.run_id.desc())
    if statuses:
        query = query.where(runs.c.status.in_(statuses))
    for row in connection.execute(query):
        yield run_of(row)


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


def _require(row: Row[Any] | None, connection: Connection, run_id: str) -> Run:
    if row is None:
        raise DataError(f"the store has no run {run_id!r}; {_known(connection, run_id)}")
    return run_of(row)


def run_of(row: Row[Any]) -> Run:
    """The run of a row."""
    return decode_record(Run, row.record)


def _known(connection: Connection, name: str) -> str:
    newest = select(runs).order_by(runs.c.created.desc())
    with suppress(DataError):  # of another run, which is damaged
        if any(name in run_of(row).tags for row in connection.execute(newest.limit(MOST_SEARCHED))):
            return f"that is a tag: `bench runs --tag {shlex.quote(name)}` lists its runs"
    latest: Sequence[str] = [row.run_id for row in connection.execute(newest.limit(MOST_NAMED))]
    return f"its latest runs are {', '.join(latest)}" if latest else "it has no runs yet; `bench run` creates one"


def read_selections(
    connection: Connection, run_id: str, queries: Sequence[int | str], most: int
) -> dict[int | str, tuple[ToolSpec, ...]]:
    """The tools that were offered for queries, in columns with this number of tools.

    Queries that are not kept yet are left out.
    """
    found: dict[int | str, tuple[ToolSpec, ...]] = {}
    for first in range(0, len(queries), IN_ONE):
        own = {encode_id(query_id, most): query_id for query_id in queries[first : first + IN_ONE]}
        of_queries = (selections.c.run_id == run_id, selections.c.query_id.in_(own))
        rows = connection.execute(select(selections).where(*of_queries)).all()
        bodies = read_bodies(connection, select(selections.c.tools).where(*of_queries))
        read: dict[str, tuple[ToolSpec, ...]] = {}
        for row in rows:
            if row.tools not in read:
                read[row.tools] = tuple(map(ToolSpec.model_validate, decode(bodies[row.tools])))
            found[own[row.query_id]] = read[row.tools]
    return found


def read_gold_answers(connection: Connection, run_id: str) -> dict[int | str, GoldAnswer]:
    """Read the answers to the expected calls of a run, by the query's id."""
    bodies = read_bodies(connection, select(gold_answers.c.answer).where(gold_answers.c.run_id == run_id))
    answers = (decode_record(GoldAnswer, text) for text in bodies.values())
    return {answer.query_id: answer for answer in answers}


def new_run(config: RunConfig, config_digest: str) -> Run:
    """A run of this configuration that has not begun."""
    lines = installed_packages()
    return Run(
        run_id=new_run_id(),
        config=config,
        config_digest=config_digest,
        status="running",
        created_at=datetime.now(UTC),
        environment_digest=hashlib.sha256("\n".join(lines).encode()).hexdigest(),
        environment=lines,
    )


def new_run_id() -> str:
    """A run's id: the UTC time, so that ids sort, and six random hex digits, so that they are unique."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
