"""Checksums of rows: a bit that changes on the disk is noticed when the row is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from trialbed.errors import DataError

SIZE = 8
"""Bytes of a checksum: enough against accidents, which is what it is for."""

NOT_COVERED = frozenset(("id", "trial_id", "checksum"))
"""Columns that the database numbers, and the checksum itself."""


def checksum(rows: Iterable[Mapping[Any, Any]]) -> str:
    """The checksum of rows, in this order.

    Columns without a value do not count, so that a column can be added without changing the checksums of the rows
    that do not have it.
    """
    covered = [
        sorted((name, value) for name, value in row.items() if value is not None and name not in NOT_COVERED)
        for row in rows
    ]
    # A value whose type changed, such as text that SQLite takes for bytes, has another checksum too.
    text = _encoder().encode(covered)
    return hashlib.blake2b(text.encode(), digest_size=SIZE).hexdigest()


@lru_cache(maxsize=1)
def _encoder() -> json.JSONEncoder:
    return json.JSONEncoder(default=repr, separators=(",", ":"))


def with_checksum(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with its checksum."""
    return {**row, "checksum": checksum([row])}


def check(found: Iterable[Mapping[Any, Any]], expected: str, what: str) -> None:
    """Check that rows are as they were written.

    Args:
        what: names them in the error: the table, the run and the trial.

    Raises:
        DataError: they are not.
    """
    if checksum(found) != expected:
        raise DataError(
            f"the store is damaged: {what} changed after it was written; `bench doctor --store` lists all that is "
            "damaged. Restore a copy of the store, or name another one"
        )
