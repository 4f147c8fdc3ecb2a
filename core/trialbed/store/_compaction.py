"""Gives the space of deleted rows back to the system."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, text

from trialbed.store._schema import metadata


def compact(engine: Engine) -> None:
    """Compact the database; nothing that is kept in it changes."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if engine.dialect.name == "postgresql":
            for table in metadata.sorted_tables:
                connection.execute(text(f"VACUUM {table.name}"))
            return
        driver: Any = connection.connection.driver_connection
        # The driver itself: a statement of SQLAlchemy begins a transaction, in which nothing can be compacted.
        driver.execute("COMMIT") if driver.in_transaction else None
        driver.execute("VACUUM")
        # The log of changes is as large as the store now, and would stay beside it.
        driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
