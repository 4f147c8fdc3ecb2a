"""The trials of a run as arrays: which of them count, and their values."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from trialbed.records import QueryIds, RunStatus
from trialbed.report.comparison import KnownTrials, QueryId, means_by_query
from trialbed.store import ColumnTable, TrialColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CountedTrials:
    """The trials of a run; a place is that of a trial among those of the table.

    Args:
        frameworks: those of the run.
        status: of the run.
        quality: the scores that a trial that failed has as 0.
        absent: the scores that trials of a query cannot have; None where only the trials show it.
    """

    def __init__(
        self,
        table: ColumnTable,
        frameworks: Sequence[str],
        status: RunStatus,
        quality: Collection[str],
        absent: Mapping[QueryId, Collection[str]] | None,
    ) -> None:
        self._table = table
        self._frameworks = frameworks
        self._status = status
        self._quality = quality
        self.known = KnownTrials(table, absent)

    def of(self, framework: str) -> NDArray[Any]:
        """Return the places of a framework's trials, in the order in which they ended."""
        import numpy as np

        return np.flatnonzero(self.known.has("framework", framework))

    @cached_property
    def answered(self) -> NDArray[Any]:
        """For each trial, whether it ended without failure."""
        return self.known.has("status", "answered")

    @cached_property
    def first(self) -> NDArray[Any]:
        """For each trial, whether it was the first of its worker."""
        import numpy as np

        return np.asarray(self._table.first.unpack()) > 0

    @cached_property
    def common(self) -> NDArray[Any] | None:
        """The queries and repeats that every framework has measured, as numbers; None for all."""
        import numpy as np

        if self._status == "finished" or len(self._frameworks) == 1:
            return None
        measured = ~self.known.has("status", "not measured")
        pairs = [np.unique(self._pairs[own[measured[own]]]) for own in map(self.of, self._frameworks)]
        return np.array(sorted(set.intersection(*(set(own.tolist()) for own in pairs))), dtype=np.int64)

    @cached_property
    def counting(self) -> NDArray[Any]:
        """For each trial, whether it was measured and is of the common ones."""
        import numpy as np

        measured = ~self.known.has("status", "not measured")
        return measured if self.common is None else measured & np.isin(self._pairs, self.common)

    @cached_property
    def first_apart(self) -> bool:
        """Whether times leave out the first trial of each worker, by ``scoring.first_trials_apart``."""
        groups = [self.of(name) for name in self._frameworks]
        if self.common is not None:
            groups += [own[self.counting[own]] for own in groups]
        answered = (own[self.answered[own]] for own in groups)
        return all(bool((~self.first[own]).any()) for own in answered if len(own))

    def timed(self, framework: str) -> NDArray[Any]:
        """Return the places of a framework's trials whose times count."""
        own = self.of(framework)
        own = own[(self.answered & self.counting)[own]]
        later: NDArray[Any] = own[~self.first[own]]
        return later if self.first_apart and len(later) else own

    def values(self, score: str) -> NDArray[Any]:
        """Return the value of a score that counts in each trial: 0 for quality of one that failed, nan for none."""
        import numpy as np

        table = self._table
        given = np.asarray(table.score(score).unpack()) if score in table.scores else np.full(len(table), np.nan)
        found = np.where(self.answered & np.isfinite(given), given, np.nan)
        if score in self._quality:
            failed = self.known.has("status", "failed")
            found[failed & ~self.known.lacks(score)] = 0.0
        return found

    def count_queries(self, chosen: NDArray[Any]) -> int:
        """Return of how many queries the trials at these places are."""
        import numpy as np

        return len(np.unique(self._array("query")[chosen]))

    def ends(self, framework: str) -> Counter[str]:
        """Count a framework's trials by their status."""
        return Counter(self._words("status", framework))

    def failures(self, framework: str) -> Counter[str]:
        """Count a framework's failed trials by the kind of their failure."""
        return Counter(filter(None, self._words("failure", framework)))

    def _words(self, name: str, framework: str) -> list[Any]:
        column = getattr(self._table, name)
        return [column.values[place] for place in self._array(name)[self.of(framework)].tolist()]

    def cell(self, framework: str, query: QueryId) -> Sequence[TrialColumns]:
        """Return the trials of a framework on a query, in the order of their repeats."""
        import numpy as np

        number = self._queries.places.get(query)
        if number is None or framework not in self._labels:
            return ()
        ordered, queries = self._by_query
        asked = ordered[np.searchsorted(queries, number) : np.searchsorted(queries, number, side="right")]
        own = asked[self._array("framework")[asked] == self._labels[framework]]
        return [self._table.trial(place) for place in own.tolist()]

    def place(self, trial: TrialColumns) -> int:
        """Return the place of a trial."""
        return bisect_left(self._rows, trial.row)

    @cached_property
    def _rows(self) -> Sequence[int]:
        return self._table.row.unpack()

    def least(self, column: NDArray[Any], order: QueryIds) -> Iterator[tuple[float, QueryId]]:
        """Yield the mean of a column over the trials of each query that have a value, the least first, with the query.

        Args:
            order: of the queries with equal means.
        """
        import numpy as np

        known = self._queries
        means = means_by_query(column, self._array("query"), len(known))
        places = np.fromiter((order.places.get(query, -1) for query in known), np.int64, len(known))
        for number in np.lexsort((places, means)):
            if places[number] >= 0 and means[number] == means[number]:  # nan differs
                yield float(means[number]), known[number]

    @cached_property
    def _queries(self) -> QueryIds:
        return QueryIds(self._table.query.values)

    @cached_property
    def _labels(self) -> Mapping[str, int]:
        return {label: number for number, label in enumerate(self._table.framework.values)}

    @cached_property
    def _by_query(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The places of all trials, query by query, and the number of the query of each."""
        import numpy as np

        queries = self._array("query")
        ordered = np.lexsort((np.asarray(self._table.repeat.unpack()), queries))
        return ordered, queries[ordered]

    @cached_property
    def _pairs(self) -> NDArray[Any]:
        """A number for the query and the repeat of each trial."""
        import numpy as np

        repeats = np.asarray(self._table.repeat.unpack())
        found: NDArray[Any] = self._array("query") * (int(repeats.max(initial=0)) + 1) + repeats
        return found

    def _array(self, name: str) -> NDArray[Any]:
        """The numbers of the values in a column."""
        import numpy as np

        return np.asarray(getattr(self._table, name).places.unpack())
