"""Bodies, each stored once under the SHA-256 of its content, compressed."""

from __future__ import annotations

import hashlib
from typing import Any

from sqlalchemy import CompoundSelect, Connection, Select, delete, select, union
from zlib_ng import zlib_ng

from trialbed.errors import DataError
from trialbed.store._rows import insert
from trialbed.store._schema import blobs, calls, gold_answers, selections

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
