"""Brings a store of an older version up to date, one schema version after the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, column, select, table, update

from trialbed.store._schema import SCHEMA_VERSION, about


def migrate(connection: Connection, version: int) -> None:
    """Lead the schema from this version to today's, in the connection's transaction."""
    for step in range(version, SCHEMA_VERSION):
        MIGRATIONS[step](connection)
    connection.execute(about.update().values(schema_version=SCHEMA_VERSION))


def _flat_limits(connection: Connection) -> None:
    """Version 2: a run's configuration has ``max_steps`` and ``timeout`` beside its other settings."""

    def change(run: dict[str, Any]) -> None:
        run["config"] |= run["config"].pop("limits", {})

    _change_records(connection, "runs", "run_id", change)


def _change_records(connection: Connection, name: str, key: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the JSON of every record of a table."""
    rows = table(name, column(key), column("record"))
    for row in connection.execute(select(rows)).all():
        record = json.loads(row.record)
        change(record)
        text = json.dumps(record, separators=(",", ":"))
        connection.execute(update(rows).where(rows.c[key] == row[0]).values(record=text))


MIGRATIONS: dict[int, Callable[[Connection], None]] = {1: _flat_limits}
"""Schema version -> what leads from it to the next.

A migration names tables and columns itself: those of ``_schema`` are today's, and would change under a migration that
was written for others. SQLite changes a column by a copy of its table.
"""
