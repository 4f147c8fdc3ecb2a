"""Reads the trials of a verification, whose subjects are endpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, select

from trialbed.store._json import decode_id
from trialbed.store._schema import trials
from trialbed.store._trials import read_exchanges

if TYPE_CHECKING:
    from trialbed.store._reader import StoredRun

IN_ONE = 200
"""Trials that are read in one go."""

Place = tuple[int, int]
"""The case's line in the test set, and the number of the trial."""


class VerifiedCase(NamedTuple):
    """A case of a verification as it is stored: what was found, and the JSON of its request and of its response."""

    verified: dict[str, Any]
    request: str
    response: str


def verified_cases(run: StoredRun, label: str) -> Iterator[VerifiedCase]:
    """The cases of an endpoint in the order of the test set, each as its last session left it, a part at a time."""
    with run._store._open().read() as connection:
        rows = _rows(connection, run.run_id, label)
        for first in range(0, len(rows), IN_ONE):
            for record, request, response in read_exchanges(connection, rows[first : first + IN_ONE]):
                yield VerifiedCase(record["verified"], request, response)


def _rows(connection: Connection, run_id: str, label: str) -> list[int]:
    chosen = select(trials.c.id, trials.c.query_id, trials.c.repeat)
    own = chosen.where(trials.c.run_id == run_id, trials.c.framework == label).order_by(trials.c.id)
    latest: dict[Place, int] = {}
    for row, query_id, repeat in connection.execute(own):
        latest[int(decode_id(query_id)), repeat] = row
    return [latest[place] for place in sorted(latest)]
