"""Reads the trials of a verification, whose subjects are endpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select

from trialbed.records import TrialResult
from trialbed.store._json import decode_id
from trialbed.store._schema import trials
from trialbed.store._trials import read_rows

if TYPE_CHECKING:
    from trialbed.store._reader import StoredRun

IN_ONE = 200
"""Trials that are read in one go."""

Place = tuple[int, int]
"""The case's line in the test set, and the number of the trial."""


def verified_trials(run: StoredRun, label: str) -> Iterator[TrialResult]:
    """The trials of an endpoint in the order of the test set, each as its last session left it, a part at a time."""
    with run._store._open().read() as connection:
        rows = _rows(connection, run.run_id, label)
        for first in range(0, len(rows), IN_ONE):
            yield from read_rows(connection, rows[first : first + IN_ONE])


def _rows(connection: Connection, run_id: str, label: str) -> list[int]:
    chosen = select(trials.c.id, trials.c.query_id, trials.c.repeat)
    own = chosen.where(trials.c.run_id == run_id, trials.c.framework == label).order_by(trials.c.id)
    latest: dict[Place, int] = {}
    for row, query_id, repeat in connection.execute(own):
        latest[int(decode_id(query_id)), repeat] = row
    return [latest[place] for place in sorted(latest)]
