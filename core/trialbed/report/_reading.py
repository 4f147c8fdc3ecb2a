"""The attempts of a framework as they are read, and the trials of them that count."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from trialbed.errors import DataError
from trialbed.records import GoldAnswer, Query, QueryIds
from trialbed.report._columns import ReportedColumns
from trialbed.report._packed import PackedTrials, TrialPack
from trialbed.report._tally import TrialTally
from trialbed.report._trials import QueryId, ReportedTrial
from trialbed.spool import Spool
from trialbed.store import counted_attempts

if TYPE_CHECKING:
    from numpy.typing import NDArray


class BlankQueries(Mapping[QueryId, Query]):
    """Queries of which only the ids are known; each is made when it is asked for."""

    def __init__(self, ids: Iterable[QueryId]) -> None:
        self._ids = QueryIds(ids)

    def __getitem__(self, query_id: QueryId) -> Query:
        if query_id not in self._ids.places:
            raise KeyError(query_id)
        return Query(query_id=query_id, text="", apis=())

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._ids.places

    def __iter__(self) -> Iterator[QueryId]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


class CountedGroup(NamedTuple):
    """The trials of a framework that count, and the counts over them."""

    trials: PackedTrials
    tally: TrialTally


class ReadTrials:
    """The attempts of a framework.

    Args:
        numbers: query -> its number, in the order of the run's.
        spool: in which they are.
    """

    def __init__(self, framework: str, numbers: Mapping[QueryId, int], spool: Spool) -> None:
        self._pack = TrialPack(framework, spool)
        self._spool = spool
        self._numbers = numbers
        self._query, self._repeat = array("I"), array("I")

    def add(self, trial: ReportedTrial) -> None:
        """Add an attempt.

        Raises:
            DataError: it is about a query that is not one of the run's.
        """
        number = self._numbers.get(trial.query_id)
        if number is None:
            raise DataError(f"there is a trial of query {trial.query_id!r}, which is not one of the run's queries")
        self._query.append(number)
        self._repeat.append(trial.repeat)
        self._pack.append(trial)

    def count(self, gold: Mapping[QueryId, GoldAnswer]) -> CountedGroup:
        """Return the attempts that count, in the order of the run's queries.

        Args:
            gold: the answers to expected calls, where the run made them itself.
        """
        order, earlier = self._order()
        columns, tally = ReportedColumns(self._numbers, self._spool), TrialTally(gold, earlier)
        trials = PackedTrials(self._pack, order, columns)
        for trial in trials:
            columns.add(trial)
            tally.add(trial)
        for other in earlier:
            tally.tokens.add(other.wire)
        self._pack.forget_unpacked()
        return CountedGroup(trials, tally)

    def _order(self) -> tuple[array[int], Sequence[ReportedTrial]]:
        """The places of the attempts that count, in the order of the run's queries; and the other attempts."""
        import numpy as np

        query, repeat = np.asarray(self._query), np.asarray(self._repeat)
        order = np.lexsort((repeat, query))
        again = (np.diff(query[order]) == 0) & (np.diff(repeat[order]) == 0)
        if not again.any():
            return array("I", order.astype(np.uintc).tobytes()), ()
        several = np.zeros(len(order), dtype=bool)
        several[:-1] |= again
        several[1:] |= again
        places = sorted(order[several].tolist())
        attempts = [self._pack[place] for place in places]
        counted = set(map(id, counted_attempts(attempts)))
        left_out = {place: trial for place, trial in zip(places, attempts, strict=True) if id(trial) not in counted}
        return array("I", (place for place in order.tolist() if place not in left_out)), list(left_out.values())


def common_trials(status: str, groups: Sequence[ReportedColumns]) -> list[NDArray[Any]] | None:
    """Return for each trial whether its query and repeat were measured for every framework; None where all were.

    Args:
        status: of the run.
        groups: the trials of each framework.
    """
    import numpy as np

    if status == "finished" or len(groups) == 1:
        return None
    width = 1 + max((int(own.repeat.max(initial=0)) for own in groups), default=0)
    pairs = [own.pairs(width) for own in groups]
    common = pairs[0][groups[0].is_measured]
    for own, numbers in zip(groups[1:], pairs[1:], strict=True):
        common = np.intersect1d(common, numbers[own.is_measured])
    return [np.isin(numbers, common) for numbers in pairs]


def are_first_apart(groups: Sequence[ReportedColumns], common: Sequence[NDArray[Any]] | None) -> bool:
    """Return whether the times of each worker's first trial can be left out, for all frameworks alike.

    They cannot if any framework has no other times: it alone would be shown with the start-up of its workers.

    Args:
        groups: the trials of each framework.
        common: as ``common_trials`` gives it.
    """
    parts = [own.is_answered for own in groups]
    if common is not None:
        parts += [own.is_answered & shared for own, shared in zip(groups, common, strict=True)]
    later = [~own.first for own in groups] * 2
    return all(bool((part & own).any()) for part, own in zip(parts, later, strict=False) if part.any())
