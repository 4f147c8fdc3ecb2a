"""The scores of two sides, query by query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from trialbed.contracts import STATUS_VALUES
from trialbed.report.comparison._sides import Side
from trialbed.report.comparison._trial_table import QueryId
from trialbed.scoring import JUDGED

if TYPE_CHECKING:
    from numpy.typing import NDArray


UNKNOWN = -1
"""The number of tools that nobody says."""


@dataclass(frozen=True)
class PairedScore:
    """A score on the queries for which both sides have a value.

    Attributes:
        ours, theirs: the means over repeats, of the baseline and of the candidate.
    """

    ours: NDArray[Any]
    theirs: NDArray[Any]
    _queries: Sequence[QueryId]
    _places: NDArray[Any]

    def __len__(self) -> int:
        return len(self.ours)

    def queries(self, chosen: Any = slice(None)) -> list[QueryId]:
        """Return the queries, or some of them."""
        return [self._queries[place] for place in self._places[chosen].tolist()]

    @property
    def order(self) -> NDArray[Any]:
        """The places of the queries, sorted: the same wherever the trials are read from."""
        import numpy as np

        names = list(map(repr, self.queries()))
        return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)

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

    def __len__(self) -> int:
        return len(self._places[0])

    @cached_property
    def _places(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The place of each in the queries of both sides."""
        import numpy as np

        ours, theirs = self.baseline.queries, self.candidate.queries
        if ours == theirs:
            every = np.arange(len(ours), dtype=np.int32)
            return every, every
        others = {query: place for place, query in enumerate(theirs)}
        found = np.fromiter((others.get(query, -1) for query in ours), np.int32, len(ours))
        return np.flatnonzero(found >= 0).astype(np.int32), found[found >= 0]

    @property
    def unlike_offers(self) -> int:
        """How many of them were offered other tools by the candidate, as far as both sides say which."""
        numbers: dict[frozenset[str] | None, int] = {None: UNKNOWN}
        ours, theirs = (
            _offers(side, numbers)[places]
            for side, places in zip((self.baseline, self.candidate), self._places, strict=True)
        )
        return int(((ours != theirs) & (ours != UNKNOWN) & (theirs != UNKNOWN)).sum())

    def score(self, name: str) -> PairedScore:
        """Return a score on those of them for which it is known."""
        import numpy as np

        ours, theirs = self._places
        first, second = self.baseline.means(name)[ours], self.candidate.means(name)[theirs]
        known = ~(np.isnan(first) | np.isnan(second))
        return PairedScore(first[known], second[known], self.baseline.queries, ours[known])

    def repeat_differences(self, name: str) -> Counter[tuple[float, ...]]:
        """Count the queries for which a score is known by its differences, repeat by repeat, from the least on."""
        import numpy as np

        sides = (self.baseline, self.candidate)
        repeats = np.unique(np.concatenate([side.table.repeat for side in sides]))
        first, second = (_by_repeat(*each, name, repeats) for each in zip(sides, self._places, strict=True))
        differences = np.sort(second - first, axis=1)  # nan last
        counts = (differences == differences).sum(1)  # nan is unlike itself
        found: Counter[tuple[float, ...]] = Counter()
        for count in range(1, len(repeats) + 1):
            kinds, times = np.unique(differences[counts == count, :count], axis=0, return_counts=True)
            found.update(dict(zip(map(tuple, kinds.tolist()), times.tolist(), strict=True)))
        return found

    @property
    def unsure(self) -> tuple[int, int]:
        """How many trials of the baseline and of the candidate were judged unsure, and count half."""
        first, second = (
            _count_unsure(*each) for each in zip((self.baseline, self.candidate), self._places, strict=True)
        )
        return first, second


def _by_repeat(side: Side, places: NDArray[Any], name: str, repeats: NDArray[Any]) -> NDArray[Any]:
    """The score of each common query in each repeat; nan where it is not known.

    Args:
        places: of the common queries among the side's.
        repeats: all that there are, in order.
    """
    import numpy as np

    found = np.full((len(side.queries), len(repeats)), np.nan)
    found[side.table.query.places, np.searchsorted(repeats, side.table.repeat)] = side.column(name)
    common: NDArray[Any] = found[places]
    return common


def _count_unsure(side: Side, places: NDArray[Any]) -> int:
    import numpy as np

    are_common = np.zeros(len(side.queries), dtype=bool)
    are_common[places] = True
    half = side.column(JUDGED) == STATUS_VALUES["Unsure"]
    return int((half & are_common[side.table.query.places]).sum())


def _offers(side: Side, numbers: dict[frozenset[str] | None, int]) -> NDArray[Any]:
    """For each query of a side, the number of the tools that it was offered; sets without a number are given one."""
    import numpy as np

    table = side.table
    own = np.array([numbers.setdefault(tools, len(numbers)) for tools in table.tools.values], dtype=np.int32)
    of_trial = own[table.tools.places]
    told = of_trial != UNKNOWN
    found = np.full(len(side.queries), UNKNOWN, dtype=np.int32)
    found[table.query.places[told]] = of_trial[told]
    return found
