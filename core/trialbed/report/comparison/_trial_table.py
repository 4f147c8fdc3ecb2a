"""The trials of a side as columns, so that a figure over very many of them is one operation on arrays."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from trialbed.records import QueryIds

if TYPE_CHECKING:
    from numpy.typing import NDArray

QueryId = int | str


@dataclass(frozen=True)
class ComparedTrial:
    """One trial: its scores as numbers, and the kind of its failure; empty if it ended without failure.

    Attributes:
        measured: whether the trial says something of the framework: a failure that does is 0 in scores of quality.
        tools: the names of the tools on offer; None where that is not known.
        first: whether it was the first trial of its worker.
        absent: the scores that trials of the query cannot have, so that a failed one is not 0 in them.
    """

    query_id: QueryId
    scores: Mapping[str, float]
    failure: str = ""
    measured: bool = True
    repeat: int = 0
    tools: frozenset[str] | None = None
    first: bool = False
    absent: Collection[str] = ()

    @property
    def pair(self) -> tuple[QueryId, int]:
        """The query and the repeat."""
        return self.query_id, self.repeat


@dataclass(frozen=True)
class SideColumn:
    """A column of few values: each of them once, and the place of each trial's among them."""

    values: Sequence[Any]
    places: NDArray[Any]

    @classmethod
    def of(cls, column: Iterable[Any]) -> SideColumn:
        """Return the column of these values; 5 and "5" differ."""
        import numpy as np

        places: dict[Any, int] = {}
        numbers = [places.setdefault(value, len(places)) for value in column]
        return cls(list(places), np.array(numbers, dtype=np.min_scalar_type(len(places))))

    def take(self, chosen: NDArray[Any]) -> SideColumn:
        """Return the column of these trials alone, with the values that they have, in the order of the trials."""
        import numpy as np

        own = self.places[chosen]
        begins = np.full(len(self.values), len(own), dtype=np.uint32)
        begins[own[::-1]] = np.arange(len(own) - 1, -1, -1, dtype=np.uint32)  # of equal places, the last one stays
        kept = np.argsort(begins, kind="stable")[: int((begins < len(own)).sum())]
        numbers = np.zeros(len(self.values), dtype=np.min_scalar_type(len(kept)))
        numbers[kept] = np.arange(len(kept))
        return SideColumn(_take_values(self.values, kept), numbers[own])

    def __iter__(self) -> Iterator[Any]:
        return map(self.values.__getitem__, self.places.tolist())


def _take_values(values: Sequence[Any], places: NDArray[Any]) -> Sequence[Any]:
    import numpy as np

    if np.array_equal(places, np.arange(len(values))):
        return values
    if isinstance(values, QueryIds):
        return values.at(places.tolist())
    return [values[place] for place in places.tolist()]


class UnpackedColumns(Mapping[str, "NDArray[Any]"]):
    """Columns by name, of which each is unpacked anew when it is asked for, so that one at a time is held."""

    def __init__(self, names: Sequence[str], unpack: Callable[[str], NDArray[Any]]) -> None:
        self._names = dict.fromkeys(names)
        self._unpack = unpack

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._names:
            raise KeyError(name)
        return self._unpack(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True)
class TrialTable:
    """The trials of a side in columns, each with a value per trial.

    Attributes:
        query: the query's id; the values stand in the order in which trials have them first.
        failed: the kind of failure; empty for an answer.
        tools: the names of the tools on offer; None where that is not known.
        absent: scores that the trials of some queries cannot have -> whether a trial is one of them.
        scores: nan where a trial has no value.
    """

    query: SideColumn
    repeat: NDArray[Any]
    failed: SideColumn
    measured: NDArray[Any]
    first: NDArray[Any]
    tools: SideColumn
    scores: Mapping[str, NDArray[Any]]
    absent: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, trials: Sequence[ComparedTrial]) -> TrialTable:
        """Return the table of these trials."""
        import numpy as np

        names = dict.fromkeys(name for trial in trials for name in trial.scores)
        absent = dict.fromkeys(name for trial in trials for name in trial.absent)
        return cls(
            query=SideColumn.of(trial.query_id for trial in trials),
            repeat=small_array([trial.repeat for trial in trials]),
            failed=SideColumn.of(trial.failure for trial in trials),
            measured=np.array([trial.measured for trial in trials], dtype=bool),
            first=np.array([trial.first for trial in trials], dtype=bool),
            tools=SideColumn.of(trial.tools for trial in trials),
            scores={name: np.array([trial.scores.get(name, np.nan) for trial in trials]) for name in names},
            absent={name: np.array([name in trial.absent for trial in trials], dtype=bool) for name in absent},
        )

    def __len__(self) -> int:
        return len(self.repeat)

    def __iter__(self) -> Iterator[ComparedTrial]:
        scores = {name: column.tolist() for name, column in self.scores.items()}
        absent = {name: column.tolist() for name, column in self.absent.items()}
        columns = (
            self.query,
            self.failed,
            self.measured.tolist(),
            self.repeat.tolist(),
            self.tools,
            self.first.tolist(),
        )
        for place, (query, failure, measured, repeat, tools, first) in enumerate(zip(*columns, strict=True)):
            known = {name: column[place] for name, column in scores.items() if not math.isnan(column[place])}
            cannot = tuple(name for name, column in absent.items() if column[place])
            yield ComparedTrial(query, known, failure, measured, repeat, tools, first, cannot)

    @cached_property
    def has_failed(self) -> NDArray[Any]:
        """For each trial, true if it failed."""
        import numpy as np

        kinds = np.array([bool(kind) for kind in self.failed.values], dtype=bool)
        return kinds[self.failed.places] if len(kinds) else np.zeros(len(self), dtype=bool)

    @cached_property
    def failures(self) -> dict[str, int]:
        """Number of failed trials, by kind."""
        return dict(Counter(kind for kind in self.failed if kind))

    @cached_property
    def pairs(self) -> list[tuple[QueryId, int]]:
        """The query and the repeat of each trial."""
        return list(zip(self.query, self.repeat.tolist(), strict=True))

    @classmethod
    def join(cls, tables: Sequence[TrialTable]) -> TrialTable:
        """Return the trials of several tables in one."""
        import numpy as np

        def of(names: Iterable[str], columns: Callable[[TrialTable], Mapping[str, Any]], usual: Any) -> dict[str, Any]:
            return {
                name: np.concatenate([columns(one).get(name, np.full(len(one), usual)) for one in tables])
                for name in dict.fromkeys(names)
            }

        return cls(
            query=SideColumn.of(query for one in tables for query in one.query),
            repeat=np.concatenate([one.repeat for one in tables]),
            failed=SideColumn.of(kind for one in tables for kind in one.failed),
            measured=np.concatenate([one.measured for one in tables]),
            first=np.concatenate([one.first for one in tables]),
            tools=SideColumn.of(tools for one in tables for tools in one.tools),
            scores=of((name for one in tables for name in one.scores), lambda one: one.scores, np.nan),
            absent=of((name for one in tables for name in one.absent), lambda one: one.absent, False),
        )

    def take(self, chosen: NDArray[Any]) -> TrialTable:
        """Return the table of these trials alone: their places, or whether each is one of them."""
        return replace(
            self,
            query=self.query.take(chosen),
            repeat=self.repeat[chosen],
            failed=self.failed.take(chosen),
            measured=self.measured[chosen],
            first=self.first[chosen],
            tools=self.tools.take(chosen),
            scores={name: column[chosen] for name, column in self.scores.items()},
            absent={name: column[chosen] for name, column in self.absent.items()},
        )

    def without(self, score: str) -> TrialTable:
        """Return the table without a score."""
        return replace(self, scores={name: column for name, column in self.scores.items() if name != score})

    def means(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the mean of a column over the trials of each query that have a value; nan for queries without any."""
        return means_by_query(column, self.query.places, len(self.query.values))


def small_array(numbers: Any) -> NDArray[Any]:
    """Return whole numbers, none below 0, as an array of the smallest kind that has them."""
    import numpy as np

    found = np.asarray(numbers, dtype=np.int64)
    return found.astype(np.min_scalar_type(found.max(initial=0)))


def means_by_query(column: NDArray[Any], queries: NDArray[Any], count: int) -> NDArray[Any]:
    """Return the mean of a column over the trials of each query that have a value; nan for queries without any.

    Sums have more digits than their addends, so that they are rounded once, as those of ``fmean``.

    Args:
        queries: the number of each trial's query, below ``count``.
    """
    import numpy as np

    found = np.full(count, np.nan)
    known = ~np.isnan(column)
    if not known.all():
        queries, column = queries[known], column[known]
    found[queries] = column
    if not len(queries) or np.count_nonzero(~np.isnan(found)) == len(queries):
        return found  # one value of each
    ordered = np.argsort(queries, kind="stable")
    own, starts, counts = np.unique(queries[ordered], return_index=True, return_counts=True)
    sums = np.add.reduceat(column[ordered].astype(np.longdouble), starts).astype(np.float64)
    found[own] = sums / counts
    return found
