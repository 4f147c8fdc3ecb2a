"""Checks every record and body of a store for damage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Column, Connection, Row, Table, func, select, text

from trialbed.errors import DataError
from trialbed.store._blobs import check_body, unused_bodies
from trialbed.store._database import Database, open_database
from trialbed.store._runs import check_gold_answer, check_selection, run_of
from trialbed.store._schema import blobs, calls, gold_answers, runs, scores, selections, trials
from trialbed.store._trials import check_trial

TABLES: Mapping[str, Table] = {
    "runs": runs,
    "attempts": trials,
    "scores": scores,
    "calls": calls,
    "selections": selections,
    "gold answers": gold_answers,
    "bodies": blobs,
}


@dataclass(frozen=True)
class StoreReport:
    """The findings of a check of every record of a store.

    Attributes:
        place: the store's file, or its URL without the password.
        counts: how many records of each kind it holds.
        unused: bodies that no record refers to; they only take space.
        problems: each damage that was found, in words.
    """

    place: str
    counts: dict[str, int]
    unused: int
    problems: tuple[str, ...]


def verify_store(url_or_path: str) -> StoreReport:
    """Check every record and body of a store.

    Nothing is changed.

    Raises:
        UsageError: the URL is malformed or its driver is not installed.
        DataError: there is no store, or a newer version of Trialbed wrote it.
    """
    database = open_database(url_or_path, read_only=True)
    try:
        # What damages the whole file is found by each look that meets it.
        problems = tuple(dict.fromkeys(_problems(database)))
        return StoreReport(database.where, _counts(database), _count_unused(database), problems)
    finally:
        database.engine.dispose()


def _problems(database: Database) -> Iterator[str]:
    of_rows = (partial(_rows, table, check) for table, check in CHECKS)
    looks: list[Callable[[Connection], Iterator[str]]] = [_file, *of_rows, _references]
    for look in looks:
        try:
            with database.read() as connection:
                yield from look(connection)
        except DataError as error:  # such as a table that cannot be read; the others may be whole
            yield str(error)


def _file(connection: Connection) -> Iterator[str]:
    """SQLite's own check of its pages and indexes; PostgreSQL checks its files itself."""
    if connection.dialect.name == "sqlite":
        for (line,) in connection.execute(text("PRAGMA integrity_check")):
            if line != "ok":
                yield f"the file is damaged: {line}"


CHECKS: tuple[tuple[Table, Callable[[Connection, Row[Any]], object]], ...] = (
    (runs, lambda _, row: run_of(row)),
    (trials, check_trial),
    (selections, lambda _, row: check_selection(row)),
    (gold_answers, lambda _, row: check_gold_answer(row)),
    (blobs, lambda _, row: check_body(row)),
)
"""Tables, and the check of each of their rows, which raises a DataError."""


def _rows(table: Table, check: Callable[[Connection, Row[Any]], object], connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(table)):
        try:
            check(connection, row)
        except DataError as error:
            yield str(error)


REFERENCES: tuple[tuple[str, Column[Any], Column[Any]], ...] = (
    ("attempts belong to no run", trials.c.run_id, runs.c.run_id),
    ("selections belong to no run", selections.c.run_id, runs.c.run_id),
    ("answers to expected calls belong to no run", gold_answers.c.run_id, runs.c.run_id),
    ("scores belong to no attempt", scores.c.trial_id, trials.c.id),
    ("calls belong to no attempt", calls.c.trial_id, trials.c.id),
    ("requests of calls are missing", calls.c.request, blobs.c.digest),
    ("responses of calls are missing", calls.c.response, blobs.c.digest),
    ("selections' tools are missing", selections.c.tools, blobs.c.digest),
    ("bodies of answers to expected calls are missing", gold_answers.c.answer, blobs.c.digest),
)
"""The damage if the first column has a value that the second does not have."""


def _references(connection: Connection) -> Iterator[str]:
    for wrong, child, parent in REFERENCES:
        lost = select(func.count()).where(child.is_not(None), child.not_in(select(parent)))
        count = connection.scalar(lost)
        if count:
            yield f"the store is damaged: {count} {wrong}"


def _counts(database: Database) -> dict[str, int]:
    counts = {}
    for name, table in TABLES.items():
        try:
            with database.read() as connection:
                counts[name] = int(connection.scalar(select(func.count()).select_from(table)) or 0)
        except DataError:  # said by the checks
            counts[name] = 0
    return counts


def _count_unused(database: Database) -> int:
    try:
        with database.read() as connection:
            return unused_bodies(connection)
    except DataError:
        return 0
