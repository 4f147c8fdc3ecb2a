"""What a response cache holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Row, create_engine, select

from trialbed_server.response_store import responses


def cached(folder: Path) -> list[Row[Any]]:
    """All entries of the ``responses.db`` of a folder, by their inputs."""
    engine = create_engine(f"sqlite:///{folder / 'responses.db'}")
    with engine.connect() as connection:
        found = list(connection.execute(select(responses).order_by(responses.c.input)))
    engine.dispose()
    return found
