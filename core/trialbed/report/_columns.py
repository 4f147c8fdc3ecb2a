"""The figures of a framework's trials in columns, which are packed while nobody looks at them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from trialbed.records import QueryIds
from trialbed.report._trials import QueryId, ReportedTrial
from trialbed.report.comparison import SideColumn, TrialTable, UnpackedColumns
from trialbed.scoring import JUDGED, NONE_ABSENT
from trialbed.spool import Spool
from trialbed.store import PackedColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

STATUSES = ("answered", "failed", "not measured")

GIVEN, BOUNDED = 1, 2
"""Bits of a score: that the trial has it, with a value or without one; that it is bounded."""

UNKNOWN = -1
"""Of a trial without a verdict; 1 is Solved, and 0 is not."""

JUDGING = ("sopr_score", "api_call_score")
"""The scores that say how a trial went, the foremost first."""


class _ScoreColumns(NamedTuple):
    values: PackedColumn
    bits: PackedColumn


class ReportedColumns:
    """The trials of a framework, each with a place.

    Args:
        numbers: query -> its number, in the order of the run's.
        spool: in which the columns are.
    """

    def __init__(self, numbers: Mapping[QueryId, int], spool: Spool) -> None:
        self._numbers = numbers
        self._spool = spool
        self._columns = {name: PackedColumn(kind, spool=spool) for name, kind in KINDS.items()}
        self._failures: dict[str, int] = {"": 0}
        self._scores: dict[str, _ScoreColumns] = {}
        self._length = 0

    def add(self, trial: ReportedTrial) -> None:
        """Add a trial in the next place."""
        kind = trial.failure.kind if trial.failure else ""
        found = {
            "query": self._numbers[trial.query_id],
            "repeat": trial.repeat,
            "status": STATUSES.index(trial.status),
            "failure": self._failures.setdefault(kind, len(self._failures)),
            "first": trial.first,
            "wall_time": trial.wall_time,
            "evaluation_time": trial.evaluation_time,
            "quality": quality_of(trial),
            "faults": trial.faults,
            "solved": _verdict_of(trial),
        }
        for name, value in found.items():
            self._columns[name].append(value)
        for score in trial.scores:
            own = self._scores.get(score.name)
            if own is None:
                own = self._scores[score.name] = _ScoreColumns(
                    PackedColumn("d", math.nan, self._spool), PackedColumn("B", spool=self._spool)
                )
            own.values.put(self._length, math.nan if score.value is None else score.value)
            own.bits.put(self._length, GIVEN + (BOUNDED if score.bounded else 0))
        self._length += 1

    def __len__(self) -> int:
        return self._length

    @cached_property
    def query(self) -> NDArray[Any]:
        """The number of each trial's query."""
        return self.column("query")

    @cached_property
    def repeat(self) -> NDArray[Any]:
        """The repeat of each trial."""
        return self.column("repeat")

    @cached_property
    def is_answered(self) -> NDArray[Any]:
        """For each trial, whether it ended without failure."""
        return self._has_status("answered")

    @cached_property
    def is_failed(self) -> NDArray[Any]:
        """For each trial, whether its failure counts."""
        return self._has_status("failed")

    @property
    def is_measured(self) -> NDArray[Any]:
        """For each trial, whether it was measured."""
        found: NDArray[Any] = self.is_answered | self.is_failed
        return found

    @cached_property
    def first(self) -> NDArray[Any]:
        """For each trial, whether it was the first of its worker."""
        found: NDArray[Any] = self.column("first") > 0
        return found

    def _has_status(self, status: str) -> NDArray[Any]:
        found: NDArray[Any] = self.column("status") == STATUSES.index(status)
        return found

    def column(self, name: str) -> NDArray[Any]:
        """Return one of the columns that each trial has."""
        import numpy as np

        return np.asarray(self._columns[name].unpack())

    @property
    def names(self) -> Sequence[str]:
        """The scores that trials have, in the order in which they have them first."""
        return list(self._scores)

    def score(self, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return a score of each trial, nan for none, and its bits."""
        import numpy as np

        own = self._scores.get(name)
        if own is None:
            return np.full(len(self), np.nan), np.zeros(len(self), dtype=np.uint8)
        for column in own:
            column.fill(len(self))
        return np.asarray(own.values.unpack()), np.asarray(own.bits.unpack())

    def lacks(self, name: str, absent: Mapping[QueryId, Collection[str]]) -> NDArray[Any]:
        """Return for each trial whether its query is one whose trials cannot have a score."""
        import numpy as np

        numbers = [self._numbers[query] for query, names in absent.items() if name in names and query in self._numbers]
        found: NDArray[Any] = np.isin(self.query, np.array(numbers, dtype=np.int64))
        return found

    def have_times(self, chosen: NDArray[Any], *, first_apart: bool | None) -> NDArray[Any]:
        """Return which of the chosen trials ended without failure and have times that count.

        Args:
            first_apart: whether each worker's first is left out; None for wherever there are others.
        """
        answered: NDArray[Any] = chosen & self.is_answered
        later: NDArray[Any] = answered & ~self.first
        return answered if first_apart is False or not later.any() else later

    @property
    def queries(self) -> QueryIds:
        """The queries, each in the place of its number."""
        return QueryIds(self._numbers)

    def pair(self, query: QueryId, repeat: int) -> tuple[int, int] | None:
        """Return a query and a repeat as places of trials are sorted by them; None for a query that is not known."""
        number = self._numbers.get(query)
        return None if number is None else (number, repeat)

    def pair_at(self, place: int) -> tuple[int, int]:
        """Return the query and the repeat of the trial at a place."""
        return int(self.query[place]), int(self.repeat[place])

    def pairs(self, width: int) -> NDArray[Any]:
        """Return the query and the repeat of each trial as one number.

        Args:
            width: more than any repeat.
        """
        import numpy as np

        found: NDArray[Any] = self.query.astype(np.int64) * width + self.repeat
        return found

    def values_by_query(self, names: Sequence[str]) -> Iterator[tuple[QueryId, tuple[str, ...]]]:
        """Yield the query of each trial without failure, and those of some scores that have a value in it."""
        import numpy as np

        found = sum(
            ((self.score(name)[0] == self.score(name)[0]).astype(np.int64) << bit for bit, name in enumerate(names)),
            np.zeros(len(self), dtype=np.int64),
        )
        sets = {
            bits: tuple(name for bit, name in enumerate(names) if bits >> bit & 1) for bits in np.unique(found).tolist()
        }
        ids = self.queries
        for number, bits in zip(self.query[self.is_answered].tolist(), found[self.is_answered].tolist(), strict=True):
            yield ids[number], sets[bits]

    def table(
        self, trials: Sequence[ReportedTrial], absent: Mapping[QueryId, Collection[str]] = NONE_ABSENT
    ) -> TrialTable:
        """Return the trials as a comparison has them.

        Args:
            trials: the same ones; the tools on offer are read from them when they are asked for.
        """
        import numpy as np

        every = np.arange(len(self))
        lacks = {name: gone for name in dict.fromkeys(_names(absent)) if (gone := self.lacks(name, absent)).any()}
        return TrialTable(
            query=SideColumn(self.queries, self.query.astype(np.int64)).take(every),
            repeat=self.repeat.astype(np.int64),
            failed=SideColumn(list(self._failures), self.column("failure").astype(np.int64)).take(every),
            measured=self.is_measured,
            first=self.first,
            tools=SideColumn(_Tools(trials), every),
            scores=UnpackedColumns(self.names, lambda name: self.score(name)[0]),
            absent=lacks,
        )


KINDS = {
    "query": "I",
    "repeat": "I",
    "status": "B",
    "failure": "B",
    "first": "B",
    "wall_time": "d",
    "evaluation_time": "d",
    "quality": "d",
    "faults": "I",
    "solved": "b",
}
"""Column -> the type of its array."""


def quality_of(trial: ReportedTrial) -> float:
    """Return the mean of the scores that say how a trial went; one that could not be determined is 0."""
    if trial.status != "answered":
        return 0.0
    scores = map(trial.score, JUDGING)
    return fmean((score.value if score is not None else None) or 0.0 for score in scores)


def _verdict_of(trial: ReportedTrial) -> int:
    if trial.status != "answered":
        return 0 if trial.status == "failed" else UNKNOWN
    score = trial.score(JUDGED)
    return UNKNOWN if score is None or score.value is None else score.label == "Solved"


class _Tools(Sequence[Any]):
    """The tools that each trial was offered; None where that is not known."""

    def __init__(self, trials: Sequence[ReportedTrial]) -> None:
        self._trials = trials

    def __getitem__(self, place: Any) -> Any:
        return frozenset(self._trials[place].selected_tools) or None

    def __len__(self) -> int:
        return len(self._trials)


def _names(absent: Mapping[QueryId, Collection[str]]) -> Iterator[str]:
    for names in dict.fromkeys(map(tuple, absent.values())):
        yield from names
