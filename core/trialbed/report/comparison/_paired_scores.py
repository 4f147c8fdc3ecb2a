"""The scores of two sides, query by query."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from trialbed.report.comparison._sides import Side
from trialbed.report.comparison._trial_table import QueryId

if TYPE_CHECKING:
    from numpy.typing import NDArray


class PairedScore(NamedTuple):
    """A score on the queries for which both sides have a value.

    Attributes:
        ours, theirs: the means over repeats, of the baseline and of the candidate.
        order: the places of the queries, sorted: the same wherever the trials are read from.
    """

    queries: Sequence[QueryId]
    ours: NDArray[Any]
    theirs: NDArray[Any]
    order: NDArray[Any]

    @property
    def differences(self) -> NDArray[Any]:
        """Candidate less baseline."""
        found: NDArray[Any] = self.theirs - self.ours
        return found


class CommonQueries:
    """The queries that two sides have in common, in the order of the baseline."""

    def __init__(self, baseline: Side, candidate: Side) -> None:
        self.baseline = baseline
        self.candidate = candidate

    @cached_property
    def _places(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The place of each in the queries of both sides."""
        import numpy as np

        others = {query: place for place, query in enumerate(self.candidate.queries)}
        places = [(place, others[query]) for place, query in enumerate(self.baseline.queries) if query in others]
        ours, theirs = np.array(places, dtype=np.int64).reshape(-1, 2).T
        return ours, theirs

    @cached_property
    def _ranks(self) -> NDArray[Any]:
        """The place of each among all when they are sorted."""
        import numpy as np

        queries = self.baseline.queries
        names = [repr(queries[place]) for place in self._places[0].tolist()]
        ranks = np.empty(len(names), dtype=np.int64)
        ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        return ranks

    def score(self, name: str) -> PairedScore:
        """Return a score on those of them for which it is known."""
        import numpy as np

        ours, theirs = self._places
        first, second = self.baseline.means(name)[ours], self.candidate.means(name)[theirs]
        known = ~(np.isnan(first) | np.isnan(second))
        queries = self.baseline.queries
        common = [queries[place] for place in ours[known].tolist()]
        return PairedScore(common, first[known], second[known], np.argsort(self._ranks[known]))
