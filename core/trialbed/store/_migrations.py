"""Brings a store of an older version up to date, one schema version after the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import Connection, TableClause, column, inspect, select, table, text, update

from trialbed.errors import DataError
from trialbed.records import NOT_MEASURED
from trialbed.store._checksums import checksum
from trialbed.store._schema import SCHEMA_VERSION, about

CHANGED = "the store's schema version was changed after it was written; restore a copy of the store"


def migrate(connection: Connection, version: int) -> None:
    """Bring the schema from this version to the current one, in the connection's transaction."""
    for step in range(version, SCHEMA_VERSION):
        MIGRATIONS[step](connection)
    connection.execute(about.update().values(schema_version=SCHEMA_VERSION))


def _flat_limits(connection: Connection) -> None:
    """Version 2: a run's configuration has ``max_steps`` and ``timeout`` beside its other settings."""
    rows = table("runs", column("run_id"), column("record"))
    for row in connection.execute(select(rows)).all():
        run = json.loads(row.record)
        run["config"] |= run["config"].pop("limits", {})
        changed = json.dumps(run, separators=(",", ":"))
        connection.execute(update(rows).where(rows.c.run_id == row.run_id).values(record=changed))


def _attempts_and_checksums(connection: Connection) -> None:
    """Version 3: a trial may have several attempts, and rows have checksums."""
    if "attempt" in {found["name"] for found in inspect(connection).get_columns("trials")}:
        raise DataError(CHANGED)
    if connection.dialect.name == "postgresql":
        _alter(connection)
    else:
        _rebuild(connection)
    not_measured = sorted(NOT_MEASURED)
    trials = table("trials", column("status"), column("failure"))
    connection.execute(update(trials).where(trials.c.failure.is_not(None)).values(status="failed"))
    connection.execute(update(trials).where(trials.c.failure.in_(not_measured)).values(status="not measured"))
    _add_checksums(connection)


ADDED = {
    "runs": {"checksum": "''"},
    "trials": {
        "attempt": "0",
        "status": "'answered'",
        "adapter_digest": "''",
        "scores_checksum": "''",
        "calls_checksum": "''",
        "checksum": "''",
    },
    "selections": {"checksum": "''"},
}
"""Table -> its new columns and their values in the rows that are there."""

TYPES = {"attempt": "INTEGER", "status": "VARCHAR", "adapter_digest": "VARCHAR"}
"""Types of new columns that are not checksums."""

KEPT = {
    "runs": "run_id, config_digest, status, created, record",
    "trials": "id, run_id, framework, query_id, repeat, failure, wall_time, record",
    "scores": "trial_id, position, name, value, label, record",
    "calls": "trial_id, kind, position, started, duration, status, request, response, record",
    "selections": "run_id, query_id, selector, tools",
}
"""Table -> the columns of version 2, parents before their children."""


def _alter(connection: Connection) -> None:
    """Add the columns where the database can change a table."""
    for name, columns in ADDED.items():
        for new, value in columns.items():
            kind = TYPES.get(new, "VARCHAR(16)")
            connection.execute(text(f"ALTER TABLE {name} ADD COLUMN {new} {kind} DEFAULT {value} NOT NULL"))
            connection.execute(text(f"ALTER TABLE {name} ALTER COLUMN {new} DROP DEFAULT"))
    for constraint in inspect(connection).get_unique_constraints("trials"):
        connection.execute(text(f'ALTER TABLE trials DROP CONSTRAINT "{constraint["name"]}"'))
    connection.execute(text("ALTER TABLE trials ADD UNIQUE (run_id, framework, query_id, repeat, attempt)"))


def _rebuild(connection: Connection) -> None:
    """Copy the tables where the database cannot change one: SQLite."""
    for index in ("runs_by_config", "ix_selections_tools", "ix_calls_response", "ix_calls_request"):
        connection.execute(text(f"DROP INDEX {index}"))
    for name in KEPT:
        connection.execute(text(f"ALTER TABLE {name} RENAME TO {name}_2"))
    for statement in VERSION_3:
        connection.execute(text(statement))
    for name, columns in KEPT.items():
        added = ADDED.get(name, {})
        names = ", ".join((columns, *added))
        values = ", ".join((columns, *added.values()))
        connection.execute(text(f"INSERT INTO {name} ({names}) SELECT {values} FROM {name}_2"))  # noqa: S608
    for name in reversed(KEPT):  # children first: to drop a parent deletes their rows
        connection.execute(text(f"DROP TABLE {name}_2"))


def _add_checksums(connection: Connection) -> None:
    scores, calls, trials = (_table(name) for name in ("scores", "calls", "trials"))
    for row in connection.execute(select(trials)).all():
        of_trial = select(scores).where(scores.c.trial_id == row.id).order_by(scores.c.position)
        changes = {"scores_checksum": _checksum(connection.execute(of_trial))}
        order = (calls.c.kind.desc(), calls.c.position)
        of_trial = select(calls).where(calls.c.trial_id == row.id).order_by(*order)
        changes["calls_checksum"] = _checksum(connection.execute(of_trial))
        changes["checksum"] = checksum([{**row._mapping, **changes}])
        connection.execute(update(trials).where(trials.c.id == row.id).values(changes))
    for name, keys in (("runs", ("run_id",)), ("selections", ("run_id", "query_id"))):
        rows = _table(name)
        for row in connection.execute(select(rows)).all():
            same = [rows.c[key] == row._mapping[key] for key in keys]
            connection.execute(update(rows).where(*same).values(checksum=checksum([row._mapping])))


def _table(name: str) -> TableClause:
    names = (*KEPT[name].split(", "), *ADDED.get(name, {}))
    return table(name, *map(column, names))


def _checksum(rows: Iterable[Any]) -> str:
    return checksum(row._mapping for row in rows)


def _gold_answers(connection: Connection) -> None:
    """Version 4: what the gold calls of a run's queries were answered."""
    if "gold_answers" in inspect(connection).get_table_names():
        raise DataError(CHANGED)
    for statement in VERSION_4:
        connection.execute(text(statement))


def _cpu_times(connection: Connection) -> None:
    """Version 5: the outcome of a trial has a ``cpu_time``, which those of before do without."""


VERSION_3 = (
    """
    CREATE TABLE runs (
        run_id VARCHAR NOT NULL, config_digest VARCHAR NOT NULL, status VARCHAR NOT NULL, created DOUBLE NOT NULL,
        record TEXT NOT NULL, checksum VARCHAR(16) NOT NULL, PRIMARY KEY (run_id)
    )""",
    """
    CREATE TABLE trials (
        id INTEGER NOT NULL, run_id VARCHAR NOT NULL, framework VARCHAR NOT NULL, query_id VARCHAR NOT NULL,
        repeat INTEGER NOT NULL, attempt INTEGER NOT NULL, status VARCHAR NOT NULL, failure VARCHAR,
        adapter_digest VARCHAR NOT NULL, wall_time DOUBLE NOT NULL, record TEXT NOT NULL,
        scores_checksum VARCHAR(16) NOT NULL, calls_checksum VARCHAR(16) NOT NULL, checksum VARCHAR(16) NOT NULL,
        PRIMARY KEY (id), UNIQUE (run_id, framework, query_id, repeat, attempt),
        FOREIGN KEY(run_id) REFERENCES runs (run_id) ON DELETE CASCADE
    )""",
    """
    CREATE TABLE scores (
        trial_id INTEGER NOT NULL, position INTEGER NOT NULL, name VARCHAR NOT NULL, value DOUBLE, label VARCHAR,
        record TEXT NOT NULL, PRIMARY KEY (trial_id, position),
        FOREIGN KEY(trial_id) REFERENCES trials (id) ON DELETE CASCADE
    )""",
    """
    CREATE TABLE calls (
        trial_id INTEGER NOT NULL, kind VARCHAR NOT NULL, position INTEGER NOT NULL, started DOUBLE NOT NULL,
        duration DOUBLE NOT NULL, status INTEGER NOT NULL, request VARCHAR(64), response VARCHAR(64),
        record TEXT NOT NULL, PRIMARY KEY (trial_id, kind, position),
        FOREIGN KEY(trial_id) REFERENCES trials (id) ON DELETE CASCADE,
        FOREIGN KEY(request) REFERENCES blobs (digest), FOREIGN KEY(response) REFERENCES blobs (digest)
    )""",
    """
    CREATE TABLE selections (
        run_id VARCHAR NOT NULL, query_id VARCHAR NOT NULL, selector VARCHAR NOT NULL, tools VARCHAR(64) NOT NULL,
        checksum VARCHAR(16) NOT NULL, PRIMARY KEY (run_id, query_id),
        FOREIGN KEY(run_id) REFERENCES runs (run_id) ON DELETE CASCADE,
        FOREIGN KEY(tools) REFERENCES blobs (digest)
    )""",
    "CREATE INDEX runs_by_config ON runs (config_digest, created)",
    "CREATE INDEX ix_selections_tools ON selections (tools)",
    "CREATE INDEX ix_calls_request ON calls (request)",
    "CREATE INDEX ix_calls_response ON calls (response)",
)
"""The tables of version 3 that replace those of version 2, in SQLite's words."""

VERSION_4 = (
    """
    CREATE TABLE gold_answers (
        run_id VARCHAR NOT NULL, query_id VARCHAR NOT NULL, answer VARCHAR(64) NOT NULL,
        checksum VARCHAR(16) NOT NULL, PRIMARY KEY (run_id, query_id),
        FOREIGN KEY(run_id) REFERENCES runs (run_id) ON DELETE CASCADE,
        FOREIGN KEY(answer) REFERENCES blobs (digest)
    )""",
    "CREATE INDEX ix_gold_answers_answer ON gold_answers (answer)",
)
"""The table that version 4 adds."""

MIGRATIONS: dict[int, Callable[[Connection], None]] = {
    1: _flat_limits,
    2: _attempts_and_checksums,
    3: _gold_answers,
    4: _cpu_times,
}
"""Schema version -> the migration to the next one.

A migration names tables and columns itself: those of ``_schema`` are the current ones, which an older migration does
not have. SQLite changes a column by a copy of its table. A migration that changes a row writes its
checksum anew.
"""
