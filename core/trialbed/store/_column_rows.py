"""Reads the trials of a run from their rows into columns of arrays, so that none of them becomes an object."""

from __future__ import annotations

import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from sqlalchemy import JSON, Connection, Select, and_, cast, func, null, select, type_coerce

from trialbed.records import IntegrityFinding, QueryIds, Score, TrialStatus
from trialbed.spool import Spool
from trialbed.store._attempts import counted_attempts
from trialbed.store._column_table import ARRAYS, NUMBERED, PLACES, ColumnTable, NumberedColumn
from trialbed.store._columns import ScoreKind, TrialColumns, TrialPlace
from trialbed.store._packed_column import PackedColumn
from trialbed.store._rows import IN_ONE, decode_id, decode_record
from trialbed.store._schema import scores, trials

PART = 2_000
"""Rows that are fetched at once."""

QueryId = int | str

SAMPLED = 1_000
"""Trials that are asked which scores there are, where a run has many more."""

END_OF_SCORE = re.compile(r'"bounded":(true|false),"quality":(true|false),"failure":null}\Z')
"""The end of the record of a score with a value, so that not all of it need be read."""

LONGEST_END = len('"bounded":false,"quality":false,"failure":null}')


def read_column_table(
    connection: Connection, run_id: str, queries: QueryIds, names: Collection[str] | None = None
) -> ColumnTable:
    """Return the columns of a run's trials that count.

    Args:
        queries: those of the run.
        names: the scores whose values are read, without the tools on offer; the kinds of all scores are then those of
            a sample, where trials are very many. None for all: a score is bounded, and of quality, if it is in any
            trial.
    """
    trials_read = _TrialsReader(connection, run_id, queries, offered=names is None)
    if names is not None:
        values = _chosen_values(connection, run_id, names, trials_read.row)
        return trials_read.table(_kinds(connection, _sample(trials_read.row)), values)
    every = _ScoresReader(connection, run_id, trials_read.row)
    return trials_read.table(every.kinds(), every.values)


class _ColumnNumbers:
    """A column of few values while it is read.

    Args:
        value_of: gives a value of what its row has.
    """

    def __init__(self, value_of: Callable[[Any], Any] | None = None) -> None:
        self._value_of = value_of
        self._known: dict[Any, int] = {}
        self._places = PackedColumn(PLACES)

    def extend(self, found: Iterable[Any]) -> None:
        known = self._known
        self._places.extend([known.setdefault(one, len(known)) for one in found])

    @property
    def column(self) -> NumberedColumn:
        """The column, after which nothing is added."""
        found = list(self._known if self._value_of is None else map(self._value_of, self._known))
        self._known.clear()
        values = list(dict.fromkeys(found))
        if len(values) < len(found):
            numbers = {value: number for number, value in enumerate(values)}
            return NumberedColumn(values, PackedColumn.of(array(PLACES, [numbers[found[at]] for at in self._places])))
        return NumberedColumn(values, self._places)


class _QueryNumbers:
    """The column of queries while it is read.

    Args:
        known: the queries of the run, of which no text is held.
    """

    def __init__(self, known: QueryIds) -> None:
        self._known = known
        self._others: dict[QueryId, int] = {}
        self._places = PackedColumn(PLACES)

    def extend(self, found: Iterable[str]) -> None:
        known, others, count = self._known.places, self._others, len(self._known)
        for query_id in map(decode_id, found):
            place = known.get(query_id)
            self._places.append(others.setdefault(query_id, count + len(others)) if place is None else place)

    @property
    def column(self) -> NumberedColumn:
        """The column, after which nothing is added."""
        return NumberedColumn(QueryIds((*self._known, *self._others)) if self._others else self._known, self._places)


class _TrialsReader:
    """Reads all but the scores.

    Args:
        queries: those of the run.
        offered: whether the tools on offer are read too.
    """

    def __init__(self, connection: Connection, run_id: str, queries: QueryIds, *, offered: bool) -> None:
        self.row = array(ARRAYS["row"])
        self._packed: dict[str, Any] = {name: PackedColumn(kind) for name, kind in ARRAYS.items() if name != "row"}
        self._integrity: dict[int, tuple[IntegrityFinding, ...]] = {}
        self._numbered: dict[str, _ColumnNumbers | _QueryNumbers] = {name: _ColumnNumbers() for name in NUMBERED}
        self._numbered |= {"query": _QueryNumbers(queries), "offered": _ColumnNumbers(_tools)}
        left_out = {one.row for one in _uncounted_attempts(connection, run_id)}
        for part in _parts(connection, _selected(connection, run_id, offered=offered)):
            self._extend([one for one in part if one.id not in left_out] if left_out else part)

    def _extend(self, part: Sequence[Any]) -> None:
        if not part:
            return
        row, framework, query, repeat, attempt, status, failure, adapter, wall_time, first, findings, offered = zip(
            *part, strict=True
        )
        for place, text in enumerate(findings, len(self.row)):
            if text not in (None, "[]"):
                self._integrity[place] = tuple(map(IntegrityFinding.model_validate, json.loads(text)))
        self.row.extend(row)
        found = {"repeat": repeat, "attempt": attempt, "wall_time": wall_time, "first": first}
        for name, values in found.items():
            self._packed[name].extend(values)
        numbered = {
            "framework": framework,
            "query": query,
            "status": status,
            "failure": failure,
            "adapter": adapter,
            "offered": offered,
        }
        for name, values in numbered.items():
            self._numbered[name].extend(values)

    def table(self, kinds: Mapping[str, ScoreKind], values: Mapping[str, PackedColumn]) -> ColumnTable:
        """Return the table, with these scores."""
        columns: dict[str, Any] = {name: own.column for name, own in self._numbered.items()}
        return ColumnTable(
            row=PackedColumn.of(self.row),
            **self._packed,
            **columns,
            integrity=self._integrity,
            kinds=kinds,
            _values=values,
        )


def _parts(connection: Connection, chosen: Select[Any]) -> Iterator[Sequence[Any]]:
    yield from connection.execute(chosen.execution_options(yield_per=PART)).partitions()


def _selected(connection: Connection, run_id: str, *, offered: bool) -> Select[Any]:
    columns = ("id", "framework", "query_id", "repeat", "attempt", "status", "failure", "adapter_digest", "wall_time")
    record = _json(connection, trials.c.record)
    more = (
        func.coalesce(record["outcome"]["first"].as_boolean(), False),
        record["integrity"].as_string(),
        record["selected_tools"].as_string() if offered else null(),
    )
    chosen = select(*(trials.c[name] for name in columns), *more)
    return chosen.where(trials.c.run_id == run_id).order_by(trials.c.id)


def _json(connection: Connection, column: Any) -> Any:
    """The column's text as JSON; SQLite reads it as it is, where a cast would make a number of it."""
    return (cast if connection.dialect.name == "postgresql" else type_coerce)(column, JSON)


def _tools(text: str | None) -> frozenset[str]:
    return frozenset() if text is None else frozenset(json.loads(text))


def count_ends(connection: Connection, run_id: str) -> Counter[TrialStatus]:
    """Count the trials of a run that count by how they ended: the database does, and none of them is read."""
    every = select(trials.c.status, func.count()).where(trials.c.run_id == run_id).group_by(trials.c.status)
    found = Counter[TrialStatus]()
    for status, count in connection.execute(every):
        found[status] = count
    found.subtract(one.status for one in _uncounted_attempts(connection, run_id))
    return found


def _uncounted_attempts(connection: Connection, run_id: str) -> list[TrialColumns]:
    """The attempts that do not count; attempts are numbered from 0, so that few trials need be looked at."""
    key = ("framework", "query_id", "repeat")
    several = select(*(trials.c[name] for name in key)).where(trials.c.run_id == run_id, trials.c.attempt > 0)
    again = several.distinct().subquery()
    names = ("id", *key, "attempt", "status", "failure", "adapter_digest", "wall_time")
    chosen = select(*(trials.c[name] for name in names)).where(trials.c.run_id == run_id).order_by(trials.c.id)
    found = connection.execute(chosen.join(again, and_(*(trials.c[name] == again.c[name] for name in key))))
    attempts = [
        TrialColumns(row, TrialPlace(framework, query, repeat), *rest) for row, framework, query, repeat, *rest in found
    ]
    counted = {one.row for one in counted_attempts(attempts)}
    return [one for one in attempts if one.row not in counted]


def _chosen_values(
    connection: Connection, run_id: str, names: Collection[str], rows: Sequence[int]
) -> dict[str, PackedColumn]:
    found, place_of = _ValueColumns(), _Places(rows)
    chosen = _scores_of(run_id, scores.c.trial_id, scores.c.name, scores.c.value)
    for part in _parts(connection, chosen.where(scores.c.name.in_(names), scores.c.value.is_not(None))):
        for row, name, value in part:
            place = place_of(row)
            if place is not None:
                found[name].put(place, value)
    return found.fill(len(rows))


class _Places:
    """Finds the places of rows that are asked for in their order, without holding a number for each."""

    def __init__(self, rows: Sequence[int]) -> None:
        self._rows = rows
        self._place = 0

    def __call__(self, row: int) -> int | None:
        """Return the place of a row, which is not before the last one that was asked for; None if it is not there."""
        rows, place = self._rows, self._place
        while place < len(rows) and rows[place] < row:
            place += 1
        self._place = place
        return place if place < len(rows) and rows[place] == row else None


class _ValueColumns(dict[str, PackedColumn]):
    """The values of scores, of which each has a column when it is asked for first."""

    def __init__(self) -> None:
        super().__init__()
        self._spool = Spool()

    def __missing__(self, name: str) -> PackedColumn:
        found = self[name] = PackedColumn("d", math.nan, self._spool)
        return found

    def fill(self, count: int) -> Self:
        """Give all places below ``count`` a value."""
        for column in self.values():
            column.fill(count)
        return self


def _scores_of(run_id: str, *columns: Any) -> Select[Any]:
    of_run = select(trials.c.id).where(trials.c.run_id == run_id)
    chosen = select(*columns).where(scores.c.trial_id.in_(of_run))
    return chosen.order_by(scores.c.trial_id, scores.c.position)


def _sample(rows: Sequence[int]) -> Sequence[int]:
    """The rows of all trials, or of some that are spread over a run of very many."""
    step = max(1, len(rows) // SAMPLED)
    return rows[::step]


def _kinds(connection: Connection, rows: Sequence[int]) -> dict[str, ScoreKind]:
    """Each score with its kind, as the first of these trials that has it says."""
    found: dict[str, ScoreKind] = {}
    for name, record in _records(connection, rows):
        if name not in found:
            found[name] = _kind(record)
    return found


def _records(connection: Connection, rows: Sequence[int]) -> Iterator[Any]:
    for begin in range(0, len(rows), IN_ONE):
        own = select(scores.c.name, scores.c.record).where(scores.c.trial_id.in_(rows[begin : begin + IN_ONE]))
        yield from connection.execute(own.order_by(scores.c.trial_id, scores.c.position))


class _ScoresReader:
    """Reads the values of all scores, with the ends of their records, which show the kinds of almost all."""

    def __init__(self, connection: Connection, run_id: str, rows: Sequence[int]) -> None:
        self._connection = connection
        self._place_of = _Places(rows)
        self.values = _ValueColumns()
        self._ends: dict[str, set[str]] = {}
        self._others: dict[int, None] = {}
        end = func.substr(scores.c.record, func.length(scores.c.record) - (LONGEST_END - 1))
        columns = (scores.c.trial_id, scores.c.name, scores.c.value, end)
        for part in _parts(connection, _scores_of(run_id, *columns)):
            self._extend(part)
        self.values.fill(len(rows))

    def _extend(self, part: Sequence[Any]) -> None:
        values, known, place_of = self.values, self._ends, self._place_of
        for row, name, value, end in part:
            place = place_of(row)
            if place is None:
                continue
            ends = known.get(name)
            if ends is None:
                ends = known[name] = set()
            if value is None:
                self._others[row] = None
                continue
            values[name].put(place, value)
            if end in ends:
                continue
            if END_OF_SCORE.search(end):
                ends.add(end)
            else:
                self._others[row] = None

    def kinds(self) -> dict[str, ScoreKind]:
        """Return each score with its kind, in the order in which trials have them first."""
        found = {name: {_kind(end) for end in ends} for name, ends in self._ends.items()}
        for name, record in _records(self._connection, list(self._others)):
            found[name].add(_kind(record))
        return {
            name: ScoreKind(any(kind.bounded for kind in own), any(kind.quality for kind in own))
            for name, own in found.items()
        }


def _kind(record: str) -> ScoreKind:
    """The kind of a score by its record, or by the end of that."""
    end = END_OF_SCORE.search(record, max(0, len(record) - LONGEST_END))
    if end is None:
        score = decode_record(Score, record)
        return ScoreKind(score.bounded, score.bounded and score.quality)
    bounded = end[1] == "true"
    return ScoreKind(bounded, bounded and end[2] == "true")
