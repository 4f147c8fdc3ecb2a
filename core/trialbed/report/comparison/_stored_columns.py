"""The trials of a stored run as a comparison counts them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from trialbed.report.comparison._trial_table import QueryId, SideColumn, TrialTable, UnpackedColumns, small_array
from trialbed.scoring import OF_SOME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialbed.records import IntegrityFinding
    from trialbed.store import ColumnTable, NumberedColumn, PackedColumn


class KnownTrials:
    """All trials of a run that count.

    Args:
        absent: the scores that trials of a query cannot have; None where only the trials show it.
    """

    def __init__(self, table: ColumnTable, absent: Mapping[QueryId, Collection[str]] | None = None) -> None:
        self._table = table
        self._of_queries = absent
        self._answered = self.has("status", "answered")

    def of(self, framework: str, names: Collection[str] | None = None) -> TrialTable:
        """Return the trials of one framework.

        Args:
            names: the scores that are needed; None for all.
        """
        table = self._table
        own = self.has("framework", framework)
        chosen = [name for name in table.kinds if name in table.scores and (names is None or name in names)]
        packed = {name: table.score(name) for name in chosen}
        return TrialTable(
            query=_take(table.query, own),
            repeat=small_array(_select(table.repeat, own)),
            failed=_take(table.failure, own, {None: ""}),
            measured=self._measured[own],
            first=_select(table.first, own) > 0,
            tools=_take(table.offered, own, {frozenset(): None}),
            scores=UnpackedColumns(chosen, lambda name: _select(packed[name], own)),
            absent={name: gone[own] for name, gone in self._absent.items()},
        )

    def findings(self, framework: str) -> Iterator[Sequence[IntegrityFinding]]:
        """Yield the findings on the integrity of each of its trials that has some."""
        values, places = self._table.framework
        return (found for place, found in self._table.integrity.items() if values[places[place]] == framework)

    @property
    def first_apart(self) -> bool:
        """True if the times of each worker's first trial can be left out, by ``scoring.first_trials_apart``."""
        answered, later = (
            set(_select(self._table.framework.places, chosen).tolist())
            for chosen in (self._answered, self._answered & _are(self._table.first, 0))
        )
        return answered == later

    def count_measured(self) -> tuple[int, int]:
        """Return how many trials were measured, and of how many queries."""
        import numpy as np

        measured = self._measured
        return int(np.count_nonzero(measured)), int(np.count_nonzero(self._queries_of(measured)))

    @property
    def _measured(self) -> NDArray[Any]:
        return ~self.has("status", "not measured")

    def lacks(self, score: str) -> NDArray[Any]:
        """Return for each trial whether it cannot have a score."""
        import numpy as np

        found = self._absent.get(score)
        return np.zeros(len(self._table), dtype=bool) if found is None else found

    @cached_property
    def _absent(self) -> dict[str, NDArray[Any]]:
        """Score -> whether each trial cannot have it, for the scores that some cannot have."""
        return self._absent_by_trials() if self._of_queries is None else self._absent_by_queries(self._of_queries)

    def _absent_by_queries(self, absent: Mapping[QueryId, Collection[str]]) -> dict[str, NDArray[Any]]:
        import numpy as np

        found = {}
        for name in OF_SOME:
            gone = np.array([name in absent.get(query, ()) for query in self._table.query.values], dtype=bool)
            if gone.any():
                found[name] = self._of_trials(gone)
        return found

    def _absent_by_trials(self) -> dict[str, NDArray[Any]]:
        """The same as ``scoring.absent_by_trials`` says."""
        import numpy as np

        answered = self._queries_of(self._answered)
        found = {}
        for name in OF_SOME:
            has = self._answered & self._has_score(name)
            of_query = self._queries_of(has)
            # A query that no trial answered has the scores that any trial has.
            gone = np.where(answered, ~of_query, bool(answered.any()) and not has.any())
            if gone.any():
                found[name] = self._of_trials(gone)
        return found

    def _queries_of(self, chosen: NDArray[Any]) -> NDArray[Any]:
        """For each query, whether a trial of it is chosen."""
        import numpy as np

        found = np.zeros(len(self._table.query.values), dtype=bool)
        found[_select(self._table.query.places, chosen)] = True
        return found

    def _of_trials(self, of_query: NDArray[Any]) -> NDArray[Any]:
        """For each trial, what a column has for its query."""
        import numpy as np

        return np.concatenate([of_query[np.asarray(part)] for part in self._table.query.places.parts()])

    def _has_score(self, name: str) -> NDArray[Any]:
        import numpy as np

        if name not in self._table.scores:
            return np.zeros(len(self._table), dtype=bool)
        return np.concatenate([~np.isnan(part) for part in self._table.score(name).parts()])

    def has(self, column: str, value: str) -> NDArray[Any]:
        """Return for each trial whether a column has this value."""
        known = getattr(self._table, column)
        return _are(known.places, list(known.values).index(value) if value in known.values else -1)


def _are(column: PackedColumn, value: int) -> NDArray[Any]:
    """Return for each trial whether a column of numbers has this one."""
    import numpy as np

    return np.concatenate([np.asarray(part) == value for part in column.parts()])


def _select(column: PackedColumn, chosen: NDArray[Any]) -> NDArray[Any]:
    """Return a column of the trials that are chosen, of which a part is unpacked at a time."""
    import numpy as np

    found, begin = [], 0
    for part in column.parts():
        found.append(np.asarray(part)[chosen[begin : begin + len(part)]])
        begin += len(part)
    return np.concatenate(found)


def _take(column: NumberedColumn, chosen: NDArray[Any], other: Mapping[Any, Any] | None = None) -> SideColumn:
    """Return a column of some trials, with some of its values put in others' words."""
    import numpy as np

    own = SideColumn(column.values, np.asarray(column.places.unpack())).take(chosen)
    return own if other is None else SideColumn([other.get(value, value) for value in own.values], own.places)
