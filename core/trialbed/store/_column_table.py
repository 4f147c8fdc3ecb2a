"""The columns of a run's trials as arrays, and as texts: one of the trials, and one of each score."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from trialbed.records import IntegrityFinding, QueryIds
from trialbed.spool import Spool
from trialbed.store._columns import ScoreKind, TrialColumns, TrialPlace
from trialbed.store._packed_column import PackedColumn
from trialbed.store._rows import decode, encode

VERSION = "5"
"""Incremented with a change of the text."""


class NumberedColumn(NamedTuple):
    """A column of few values, or of values that are said once: each of them, and the place of each trial's in them."""

    values: Sequence[Any]
    places: PackedColumn

    def spread(self) -> list[Any]:
        """Return the value of each trial."""
        return list(map(self.values.__getitem__, self.places))


@dataclass(frozen=True)
class ColumnTable:
    """The trials of a run that count, in the order in which they ended: a value of each in each column.

    Attributes:
        query: its values are ``QueryIds``.
        row: identifies the attempt in its store.
        adapter: the digest of the adapter.
        wall_time: seconds.
        first: 1 for the first trial of a worker.
        offered: the names of the tools on offer.
        integrity: place of a trial -> the findings on it, for the trials that have any.
        kinds: the scores.
    """

    row: PackedColumn
    framework: NumberedColumn
    query: NumberedColumn
    repeat: PackedColumn
    attempt: PackedColumn
    status: NumberedColumn
    failure: NumberedColumn
    adapter: NumberedColumn
    wall_time: PackedColumn
    first: PackedColumn
    offered: NumberedColumn
    integrity: Mapping[int, tuple[IntegrityFinding, ...]]
    kinds: Mapping[str, ScoreKind]
    _values: Mapping[str, PackedColumn]

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def scores(self) -> Sequence[str]:
        """The names of the scores of which some trial has a value."""
        return tuple(self._values)

    def score(self, name: str) -> PackedColumn:
        """Return the values of one of ``scores``; nan for trials without one."""
        return self._values[name]

    def trial(self, place: int) -> TrialColumns:
        """Return the trial at a place as an object."""
        framework, query, status, failure, adapter = (
            column.values[column.places[place]]
            for column in (self.framework, self.query, self.status, self.failure, self.adapter)
        )
        return TrialColumns(
            self.row[place],
            TrialPlace(framework, query, self.repeat[place]),
            self.attempt[place],
            status,
            failure,
            adapter,
            self.wall_time[place],
            bool(self.first[place]),
            self.integrity.get(place, ()),
        )

    def trials(self) -> tuple[TrialColumns, ...]:
        """Return each trial as an object."""
        keys = map(TrialPlace, self.framework.spread(), self.query.spread(), self.repeat)
        ends = (self.attempt, self.status.spread(), self.failure.spread(), self.adapter.spread(), self.wall_time)
        integrity = [self.integrity.get(place, ()) for place in range(len(self))]
        return tuple(map(TrialColumns, self.row, keys, *ends, map(bool, self.first), integrity))


NUMBERED = ("framework", "query", "status", "failure", "adapter")
ARRAYS = {"row": "q", "repeat": "I", "attempt": "I", "wall_time": "d", "first": "b"}
"""Column -> the type of its array."""

PLACES = "I"
"""The type of places among the values of a column."""


def table_text(table: ColumnTable) -> str:
    """Return all but the scores of a table as a text."""
    numbered = {name: getattr(table, name) for name in NUMBERED}
    offers = [sorted(tools) for tools in table.offered.values]
    found = {
        **{name: getattr(table, name).texts for name in ARRAYS},
        **{name: [_as_list(column.values), column.places.texts] for name, column in numbered.items()},
        "offered": [offers, table.offered.places.texts],
        "integrity": [[place, [one.model_dump(mode="json") for one in own]] for place, own in table.integrity.items()],
        "kinds": {name: list(kind) for name, kind in table.kinds.items()},
        "scores": list(table.scores),
    }
    return encode(found)


def score_text(table: ColumnTable, name: str) -> str:
    """Return the values of one of a table's scores as a text."""
    return encode(table._values[name].texts)


def read_table(
    text: str, read_score: Callable[[str], str | None], names: Collection[str] | None = None
) -> ColumnTable | None:
    """Return the table of its texts, of which one at a time is in memory; None where that of a score is not there.

    Args:
        read_score: gives the text of a score.
        names: the scores whose values are read; None for all.
    """
    found, spool = decode(text), Spool()
    scores = {}
    for name in found["scores"]:
        if names is not None and name not in names:
            continue
        own = read_score(name)
        if own is None:
            return None
        scores[name] = PackedColumn.read("d", decode(own), spool)
    offers, offered = found["offered"]
    columns: dict[str, Any] = {name: PackedColumn.read(kind, found[name], spool) for name, kind in ARRAYS.items()}
    for name in NUMBERED:
        values, places = found[name]
        known = QueryIds.of_list(values) if name == "query" else values
        columns[name] = NumberedColumn(known, PackedColumn.read(PLACES, places, spool))
    return ColumnTable(
        **columns,
        offered=NumberedColumn([frozenset(tools) for tools in offers], PackedColumn.read(PLACES, offered, spool)),
        integrity={place: tuple(map(IntegrityFinding.model_validate, own)) for place, own in found["integrity"]},
        kinds={name: ScoreKind(*kind) for name, kind in found["kinds"].items()},
        _values=scores,
    )


def _as_list(values: Sequence[Any]) -> list[Any]:
    return values.as_list if isinstance(values, QueryIds) else list(values)
