"""Inserts many rows at once, in the form that the database's driver takes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Dialect, Table
from sqlalchemy.dialects import postgresql, sqlite

Rows = list[dict[str, Any]]


def insert(connection: Connection, table: Table, rows: Rows) -> None:
    """Insert rows, which have all columns of the table."""
    _execute(connection, *_statement(connection.dialect, table, False), rows)


def insert_new(connection: Connection, table: Table, rows: Rows) -> None:
    """Insert rows, which have all columns of the table; one whose key exists already is left as it is."""
    _execute(connection, *_statement(connection.dialect, table, True), rows)


def _execute(connection: Connection, statement: str, order: Sequence[str] | None, rows: Rows) -> None:
    # SQLAlchemy would go through every value of every row, which takes longer than to insert them.
    if rows:
        connection.exec_driver_sql(statement, rows if order is None else list(map(itemgetter(*order), rows)))


@lru_cache(maxsize=16)
def _statement(dialect: Dialect, table: Table, only_new: bool) -> tuple[str, Sequence[str] | None]:
    """The driver's statement, and the columns in the order of its parameters; None where these have names."""
    make = postgresql.insert if dialect.name == "postgresql" else sqlite.insert
    statement = make(table).on_conflict_do_nothing() if only_new else table.insert()
    compiled = statement.compile(dialect=dialect)
    return compiled.string, compiled.positiontup
