"""The columns of a stored run, and the report that its store keeps of it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Protocol

from sqlalchemy import Connection

from trialbed.errors import DataError
from trialbed.records import Run, TrialResult, TrialStatus
from trialbed.store._column_rows import count_ends, read_column_table
from trialbed.store._column_table import VERSION, ColumnTable, read_table, score_text, table_text
from trialbed.store._columns import RunVersion
from trialbed.store._reports import MadeReport, PartReader, ReportPart, trials_version
from trialbed.store._trials import IN_PART, results_of

COLUMNS = "columns"
"""The part of a report that has the columns of the trials."""

KEPT_FROM = 1_000
"""Attempts from which on what had to be read of each of them is kept for the next reader."""


class ReadRun(Protocol):
    """A run in a store, as its columns are read."""

    @property
    def record(self) -> Run:
        """All that the store holds of the run itself."""

    def version(self) -> RunVersion:
        """Return the version of its trials."""

    def _read(self) -> AbstractContextManager[Connection]: ...


def report_part(run: ReadRun, name: str, version: str, more: Sequence[str] = ()) -> str | None:
    """Return a part of the report that was kept of a run; None without one that is of the run as it is now.

    Args:
        version, more: as its ``ReportPart`` has them.
    """
    if run.record.status == "running":
        return None
    with run._read() as connection:
        return PartReader(connection, run.record, version, more).read(name)


def column_table(run: ReadRun, scores: Collection[str] | None = None) -> ColumnTable:
    """Return the trials of a run that count in columns of arrays, for figures over very many: none becomes an object.

    Args:
        scores: the scores that are needed; None for all, and the names of the tools on offer beside them.
    """
    kept = _kept_columns(run, scores)
    if kept is not None:
        return kept
    with run._read() as connection:
        return read_column_table(connection, run.record.run_id, run.record.config.query_ids, scores)


def run_ends(run: ReadRun) -> Counter[TrialStatus]:
    """Count the trials of a run that count by how they ended."""
    with run._read() as connection:
        return count_ends(connection, run.record.run_id)


def _kept_columns(run: ReadRun, scores: Collection[str] | None = None) -> ColumnTable | None:
    """The columns that were kept of a run, with the values of these scores; None without those of the run as it is."""
    if run.record.status == "running":
        return None
    with run._read() as connection:
        parts = PartReader(connection, run.record, VERSION)
        text = parts.read(COLUMNS)
        return None if text is None else read_table(text, lambda name: parts.read(_part_of(name)), scores)


def _part_of(score: str) -> str:
    return f"{COLUMNS}/{score}"


def trial_columns(
    run: ReadRun,
    keep: Callable[[MadeReport], object],
    meanwhile: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> ColumnTable:
    """Return ``column_table`` with all scores.

    Args:
        keep: keeps columns that had to be read from thousands of trials, for the next reader.
        meanwhile: gives a context in which these are read.
    """
    kept = _kept_columns(run)
    if kept is not None:
        return kept
    if not _keeps_columns(run):
        return column_table(run)
    with meanwhile():
        made, table = _make_report(run, lambda: ())
    keep(made)
    return table


def make_columns(run: ReadRun) -> MadeReport | None:
    """Return the columns of a run as a store keeps them; None where its trials are read as fast, or it is running."""
    return make_report(run, lambda: ()) if _keeps_columns(run) else None


def _keeps_columns(run: ReadRun) -> bool:
    return run.record.status != "running" and run.version().attempts >= KEPT_FROM


def make_report(run: ReadRun, parts: Callable[[], Sequence[ReportPart]]) -> MadeReport:
    """Return the report of a run as a store can keep it: the parts that are made of it now, and its columns.

    The state that it is in before they are made is the one that they are kept for.
    """
    return _make_report(run, parts)[0]


def _make_report(run: ReadRun, parts: Callable[[], Sequence[ReportPart]]) -> tuple[MadeReport, ColumnTable]:
    with run._read() as connection:
        version = trials_version(connection, run.record.run_id)
    own = parts()  # before there are columns, which take memory
    with run._read() as connection:
        table = read_column_table(connection, run.record.run_id, run.record.config.query_ids)
    columns = ReportPart(COLUMNS, VERSION, partial(table_text, table))
    scores = (ReportPart(_part_of(name), VERSION, partial(score_text, table, name)) for name in table.scores)
    return MadeReport(run.record, version, (columns, *scores, *own)), table


def rows_in_order(run: ReadRun) -> array[int]:
    """Return the rows of the trials that count, framework by framework in the order of queries and repeats."""
    table = column_table(run, ())
    queries = array("q", map(run.record.config.query_ids.places.__getitem__, table.query.values))
    frameworks, places, repeats = (each.unpack() for each in (table.framework.places, table.query.places, table.repeat))
    found, rows = table.row.unpack(), array("q")
    for framework in run.record.config.frameworks:
        if framework not in table.framework.values:
            continue
        number = table.framework.values.index(framework)
        own = [place for place, other in enumerate(frameworks) if other == number]
        own.sort(key=lambda place: (queries[places[place]], repeats[place]))
        rows.extend(map(found.__getitem__, own))
    return rows


def results_at(run: ReadRun, rows: Sequence[int]) -> Iterator[TrialResult]:
    """Yield the attempts of some rows, as ``ColumnTable.row`` has them, whole and in this order.

    They are read a part at a time, each as it is then: what is written meanwhile does not wait for the reader.

    Raises:
        DataError: one of them is gone.
    """
    for first in range(0, len(rows), IN_PART):
        own = rows[first : first + IN_PART]
        with run._read() as connection:
            part = list(results_of(connection, own))
        if len(part) < len(own):
            raise DataError(f"trials of run {run.record.run_id} were deleted while they were read")
        yield from part


def results_as_ended(run: ReadRun) -> Iterator[TrialResult]:
    """Yield the trials that count, whole, in the order in which they ended; they are read as by ``results_at``."""
    yield from results_at(run, column_table(run, ()).row.unpack())
