"""Brings a store of an older version up to date, one schema version after the other."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection

from trialbed.store._schema import SCHEMA_VERSION, about

MIGRATIONS: dict[int, Callable[[Connection], None]] = {}
"""Schema version -> what leads from it to the next.

A migration names tables and columns itself, by literal SQL or ``sqlalchemy.table()``: those of ``_schema`` are of
today, and change under a migration that was written for them. SQLite changes a column by a copy of its table.
"""


def migrate(connection: Connection, version: int) -> None:
    """Lead the schema from this version to today's, in the connection's transaction."""
    for step in range(version, SCHEMA_VERSION):
        MIGRATIONS[step](connection)
    connection.execute(about.update().values(schema_version=SCHEMA_VERSION))
