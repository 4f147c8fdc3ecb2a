"""Selections as rows: what each query of a run was offered."""

from __future__ import annotations

from sqlalchemy import Connection, select

from trialbed.records import ToolSpec
from trialbed.store._blobs import Bodies, body_of, insert_new, read_bodies
from trialbed.store._json import decode, encode, encode_id
from trialbed.store._schema import selections


def insert_selection(
    connection: Connection, run_id: str, query_id: int | str, selector: str, tools: tuple[ToolSpec, ...]
) -> None:
    """Keep what a query was offered, unless the run has it already."""
    bodies = Bodies()
    digest = bodies.add(encode([tool.model_dump() for tool in tools]))
    bodies.insert(connection)
    row = {"run_id": run_id, "query_id": encode_id(query_id), "selector": selector, "tools": digest}
    insert_new(connection, selections, [row])


def read_selection(connection: Connection, run_id: str, query_id: int | str) -> tuple[ToolSpec, ...] | None:
    """What a query was offered."""
    query = select(selections.c.tools).where(
        selections.c.run_id == run_id, selections.c.query_id == encode_id(query_id)
    )
    digest = connection.scalar(query)
    if digest is None:
        return None
    text = body_of(read_bodies(connection, query), digest)
    return tuple(ToolSpec.model_validate(tool) for tool in decode(text))
