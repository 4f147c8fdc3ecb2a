"""The cases of a verification in a store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from trialbed.store._rows import encode_id
from trialbed.store._schema import trials
from trialbed.store._stored import StoredRun
from trialbed.store._trials import read_exchanges

CASES_IN_ONE = 200
"""Cases that are read in one go."""

Place = tuple[int, int]
"""The case's line in the test set, and the number of the trial."""


class VerifiedCase(NamedTuple):
    """A stored case of a verification, with its findings and the JSON of its request and response."""

    verified: dict[str, Any]
    request: str
    response: str


def verified_cases(run: StoredRun, label: str) -> Iterator[tuple[Place, VerifiedCase]]:
    """Return the cases of an endpoint in the order of the test set, each from its last session.

    They are read a part at a time.
    """
    with run._store.reading() as connection:
        rows = _rows(connection, run, label)
        places = sorted(rows)
        for first in range(0, len(places), CASES_IN_ONE):
            part = places[first : first + CASES_IN_ONE]
            exchanges = read_exchanges(connection, [rows[place] for place in part])
            for place, (record, request, response) in zip(part, exchanges, strict=True):
                yield place, VerifiedCase(record["verified"], request, response)


def verified_case(run: StoredRun, label: str, place: Place) -> VerifiedCase | None:
    """Return a case of an endpoint from its last session, or None if it does not exist."""
    query_id, repeat = place
    with run._store.reading() as connection:
        rows = _rows(connection, run, label, query_id=encode_id(query_id), repeat=repeat)
        for record, request, response in read_exchanges(connection, list(rows.values())):
            return VerifiedCase(record["verified"], request, response)
    return None


def _rows(connection: Connection, run: StoredRun, label: str, **columns: Any) -> dict[Place, int]:
    """Return the row of each case's last attempt."""
    own = select(trials.c.query_id, trials.c.repeat, trials.c.id).filter_by(
        run_id=run.run_id, framework=label, **columns
    )
    rows = connection.execute(own.order_by(trials.c.id))
    return {(int(query_id), repeat): row_id for query_id, repeat, row_id in rows}
