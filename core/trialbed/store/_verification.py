"""Checks every record and body of a store for damage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Column, Connection, Table, func, select, text

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
        problems = tuple(_problems(database))
        return StoreReport(database.where, _counts(database), _count_unused(database), problems)
    finally:
        database.engine.dispose()


def _problems(database: Database) -> Iterator[str]:
    for look in (_file, _runs, _trials, _selections, _gold_answers, _bodies, _references):
        yield from _findings(database, look)


def _findings(database: Database, look: Callable[[Connection], Iterator[str]]) -> Iterator[str]:
    """Yield the findings of a check, and the error that keeps it from continuing."""
    try:
        with database.read() as connection:
            yield from look(connection)
    except DataError as error:
        yield str(error)


def _file(connection: Connection) -> Iterator[str]:
    """SQLite's own check of its pages and indexes; PostgreSQL checks its files itself."""
    if connection.dialect.name == "sqlite":
        for (line,) in connection.execute(text("PRAGMA integrity_check")):
            if line != "ok":
                yield f"the file is damaged: {line}"


def _runs(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(runs)):
        yield from _problem(partial(run_of, row))


def _trials(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(trials)):
        yield from _problem(partial(check_trial, connection, row))


def _selections(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(selections)):
        yield from _problem(partial(check_selection, row))


def _gold_answers(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(gold_answers)):
        yield from _problem(partial(check_gold_answer, row))


def _bodies(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(blobs)):
        yield from _problem(partial(check_body, row))


def _problem(look: Callable[[], object]) -> Iterator[str]:
    try:
        look()
    except DataError as error:
        yield str(error)


REFERENCES: tuple[tuple[str, Column[Any], Column[Any]], ...] = (
    ("attempts belong to no run", trials.c.run_id, runs.c.run_id),
    ("selections belong to no run", selections.c.run_id, runs.c.run_id),
    ("gold answers belong to no run", gold_answers.c.run_id, runs.c.run_id),
    ("scores belong to no attempt", scores.c.trial_id, trials.c.id),
    ("calls belong to no attempt", calls.c.trial_id, trials.c.id),
    ("requests of calls are missing", calls.c.request, blobs.c.digest),
    ("responses of calls are missing", calls.c.response, blobs.c.digest),
    ("selections' tools are missing", selections.c.tools, blobs.c.digest),
    ("gold answers' bodies are missing", gold_answers.c.answer, blobs.c.digest),
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
