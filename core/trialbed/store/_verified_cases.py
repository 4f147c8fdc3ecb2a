"""The cases of a verification in a store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from trialbed.store._rows import encode_id
from trialbed.store._stored import StoredRun
from trialbed.store._trials import read_exchanges

CASES_IN_ONE = 200
"""Cases that are read in one go."""

Place = tuple[int, int]
"""The case's line in the test set, and the number of the trial."""


class VerifiedCase(NamedTuple):
    """A case of a verification as it is stored: the findings, and the JSON of its request and of its response."""

    verified: dict[str, Any]
    request: str
    response: str


def verified_cases(run: StoredRun, label: str) -> Iterator[tuple[Place, VerifiedCase]]:
    """Return the cases of an endpoint in the order of the test set, each as its last session left it.

    They are read a part at a time.
    """
    with run._store.reading() as connection:
        rows = _rows(run, label)
        places = sorted(rows)
        for first in range(0, len(places), CASES_IN_ONE):
            part = places[first : first + CASES_IN_ONE]
            exchanges = read_exchanges(connection, [rows[place] for place in part])
            for place, (record, request, response) in zip(part, exchanges, strict=True):
                yield place, VerifiedCase(record["verified"], request, response)


def verified_case(run: StoredRun, label: str, place: Place) -> VerifiedCase | None:
    """Return a case of an endpoint as its last session left it; None where there is none."""
    query_id, repeat = place
    with run._store.reading() as connection:
        rows = _rows(run, label, query_id=encode_id(query_id), repeat=repeat)
        for record, request, response in read_exchanges(connection, list(rows.values())):
            return VerifiedCase(record["verified"], request, response)
    return None


def _rows(run: StoredRun, label: str, **columns: Any) -> dict[Place, int]:
    found = run._store.each_attempt_summary(run.run_id, framework=label, **columns)
    return {(int(one.key.query_id), one.key.repeat): one.row for one in found}
