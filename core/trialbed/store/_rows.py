"""Records as rows, the statements that insert them, and bodies, each stored once under its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json, to_json
from sqlalchemy import CompoundSelect, Connection, Dialect, Select, Table, delete, select, union
from zlib_ng import zlib_ng

from trialbed.errors import DataError
from trialbed.records import Record
from trialbed.store._database import blobs, calls, gold_answers, selections

R = TypeVar("R", bound=Record)

IN_ONE = 500
"""Rows that one statement names or reads."""


def encode(value: Any) -> str:
    """JSON as ASCII; keeps NaN, infinities and lone surrogates, which stricter writers refuse or change."""
    try:
        text = to_json(value, inf_nan_mode="constants")  # several times as fast, but in UTF-8
    except ValueError:
        return _ENCODER.encode(value)
    return text.decode() if text.isascii() else _ENCODER.encode(value)


def decode(text: str) -> Any:
    """Return the value that ``encode`` wrote."""
    try:
        return from_json(text, cache_strings="keys")  # most values differ, and looking them up takes time
    except ValueError:
        return json.loads(text)


def decode_record(kind: type[R], text: str, **more: Any) -> R:
    """Return the record of this JSON, with the fields that were stored elsewhere.

    Raises:
        DataError: it does not fit the record: another version of Trialbed wrote it, or it was changed.
    """
    try:
        return kind.model_validate({**decode(text), **more})
    except (ValueError, ValidationError) as error:
        raise DataError(
            f"the store holds a {kind.__name__} that this version of Trialbed cannot read: {error}\n"
            "Read it with the version that wrote it, or use another store."
        ) from error


def encode_id(query_id: int | str, most: int | None = None) -> str:
    """Return a query's id as JSON text, which distinguishes 5 from "5".

    The number of tools on offer is added if it differs from the run's.
    """
    return json.dumps(query_id if most is None else [query_id, most])


@lru_cache(maxsize=256)  # the names of scores, above all
def column_text(text: str | None) -> str | None:
    """Return a text that any database's column can hold, without NUL and lone surrogates; the record keeps them."""
    return None if text is None else text.replace("\x00", "").encode(errors="backslashreplace").decode()


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.model_dump()
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not a JSON value")


_ENCODER = json.JSONEncoder(default=_plain, separators=(",", ":"))


Rows = list[dict[str, Any]]


def insert(connection: Connection, table: Table, rows: Rows, *, only_new: bool = False) -> bool:
    """Insert rows with a value for every column; return whether all are known to be stored now.

    Args:
        only_new: keep the existing row if its key exists already.
    """
    if not rows:
        return True
    # SQLAlchemy would go through every value of every row, which takes longer than to insert them.
    statement, order = _statement(connection.dialect, table, only_new)
    given = rows if order is None else list(map(itemgetter(*order), rows))
    return connection.exec_driver_sql(statement, given).rowcount == len(rows)


@lru_cache(maxsize=16)
def _statement(dialect: Dialect, table: Table, only_new: bool) -> tuple[str, Sequence[str] | None]:
    """Return the driver's statement and the columns in parameter order, or None if parameters have names."""
    compiled: Any = table.insert().compile(dialect=dialect)
    # SQLite and PostgreSQL have the same clause.
    return f"{compiled.string}{' ON CONFLICT DO NOTHING' if only_new else ''}", compiled.positiontup


LEVEL = 1
"""The fastest level. Conversations are so repetitive that slower levels gain little."""

UNCOMPRESSED = 1024
"""Bodies of up to this many bytes are not compressed, because it would take most of the time of storing them and gain
next to nothing.
"""


Bodies = dict[str, bytes]
"""The bodies of one transaction by their digests."""


def add_body(bodies: Bodies, text: str) -> str:
    """Add a body to others; returns its digest."""
    body = text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(body).hexdigest()
    bodies[digest] = body
    return digest


def insert_bodies(connection: Connection, bodies: Bodies) -> None:
    """Write the bodies that the store does not have yet; a query for them would take longer."""
    rows = [
        {"digest": digest, "body": zlib_ng.compress(body, LEVEL if len(body) > UNCOMPRESSED else 0)}
        for digest, body in sorted(bodies.items())  # one order for all writers prevents deadlocks
    ]
    insert(connection, blobs, rows, only_new=True)


def read_bodies(connection: Connection, digests: Select[Any] | CompoundSelect[Any]) -> dict[str, str]:
    """Return the bodies with these digests.

    Raises:
        DataError: a body does not have its digest.
    """
    chosen = select(blobs.c.digest, blobs.c.body).where(blobs.c.digest.in_(digests))
    return {digest: unpack_body(digest, compressed) for digest, compressed in connection.execute(chosen)}


def unpack_body(digest: str, compressed: bytes) -> str:
    """Return the text of a body.

    Raises:
        DataError: it does not have this digest.
    """
    try:
        body = zlib_ng.decompress(compressed)
    except zlib_ng.error as error:  # type: ignore[misc]  # its stub declares it as an instance
        raise DataError(f"the store's body {digest} is damaged ({error}); restore a copy of the store") from error
    if hashlib.sha256(body).hexdigest() != digest:
        raise DataError(f"the store's body {digest} was changed; restore a copy of the store")
    return body.decode("utf-8", "surrogatepass")


def delete_orphans(connection: Connection) -> None:
    """Drop the bodies that nothing refers to any more."""
    used = union(
        select(calls.c.request).where(calls.c.request.is_not(None)),
        select(calls.c.response).where(calls.c.response.is_not(None)),
        select(selections.c.tools),
        select(gold_answers.c.answer),
    )
    connection.execute(delete(blobs).where(blobs.c.digest.not_in(used)))
