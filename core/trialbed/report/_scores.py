"""The scores of a framework: their means, medians and intervals."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from trialbed.records import ScoreDescription
from trialbed.report._columns import BOUNDED, GIVEN, ReportedColumns
from trialbed.report._records import ScoreSummary
from trialbed.report._trials import QueryId
from trialbed.scoring import ALWAYS, NONE_ABSENT, TIMES
from trialbed.statistics import quantile, wilson_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class ScoreValues:
    """One score over the trials that have a value for it.

    Attributes:
        queries: how many queries they are of.
        bounded: whether all lie in [0, 1], as its scorer says.
    """

    name: str
    values: Sequence[float]
    queries: int
    bounded: bool

    def summary(self, *, quality: bool, untold: int = 0, description: ScoreDescription | None = None) -> ScoreSummary:
        """The mean, with its interval if values lie in [0, 1]; else the median and the quartiles."""
        middle, half, values = None, None, sorted(self.values)
        if values and not self.bounded:
            middle, half = median(values), (quantile(values, 0.25), quantile(values, 0.75))
        return ScoreSummary(
            *self._mean(),
            name=self.name,
            bounded=self.bounded,
            quality=quality,
            median=middle,
            quartiles=half,
            untold=untold,
            description=description,
        )

    def _mean(self) -> tuple[float | None, tuple[float, float] | None, int]:
        if not self.values:
            return None, None, 0
        mean = fmean(self.values)
        # The repeats of a query may all agree, so that they count as one observation.
        found = wilson_interval(mean, self.queries) if self.bounded else None
        return mean, None if found is None else (found.low, found.high), len(self.values)


def score_values(
    trials: ReportedColumns,
    chosen: NDArray[Any],
    quality: Collection[str],
    absent: Mapping[QueryId, Collection[str]] = NONE_ABSENT,
    *,
    first_apart: bool | None = None,
) -> Iterator[ScoreValues]:
    """Yield every score over some trials of a framework.

    Args:
        chosen: for each trial, whether it is one of them.
        quality: the scores in which a trial that failed counts as 0; in others only trials without failure count.
        absent: the scores that trials of a query cannot have.
        first_apart: as ``ReportedColumns.have_times`` takes it.
    """
    answered, failed = chosen & trials.is_answered, chosen & trials.is_failed
    timed = trials.have_times(chosen, first_apart=first_apart)
    for name in dict.fromkeys([*ALWAYS, *_names_of(trials, answered), *quality]):
        if name in TIMES:
            yield _values(trials, name, timed, failed & False)
        elif name in quality and failed.any():
            yield _values(trials, name, answered, failed & ~trials.lacks(name, absent))
        else:
            yield _values(trials, name, answered, failed & False)


def _names_of(trials: ReportedColumns, answered: NDArray[Any]) -> list[str]:
    """The scores that trials have, in the order in which they have them first."""
    found = {}
    for name in trials.names:
        has = answered & ((trials.score(name)[1] & GIVEN) > 0)
        if has.any():
            found[name] = int(has.argmax())
    return sorted(found, key=found.__getitem__)


def _values(trials: ReportedColumns, name: str, answered: NDArray[Any], zeros: NDArray[Any]) -> ScoreValues:
    """The values of a score in trials without failure, and in others as 0."""
    import numpy as np

    values, bits = trials.score(name)
    known = answered & np.isfinite(values)
    given = values[known]
    # A scorer that calls its score bounded and leaves [0, 1] gets a mean, but no interval.
    bounded = bool(((bits[known] & BOUNDED) > 0).all() and ((given >= 0) & (given <= 1)).all())
    column = np.where(zeros, 0.0, values)[known | zeros]
    return ScoreValues(name, column.tolist(), len(np.unique(trials.query[known | zeros])), bounded)


def score_summaries(
    trials: ReportedColumns,
    chosen: NDArray[Any],
    quality: Collection[str] = (),
    absent: Mapping[QueryId, Collection[str]] = NONE_ABSENT,
    *,
    first_apart: bool | None = None,
    untold: Mapping[str, int] | None = None,
    described: Mapping[str, ScoreDescription] | None = None,
) -> dict[str, ScoreSummary]:
    """Sum up every score over some trials of a framework.

    Args:
        chosen, quality, absent, first_apart: as ``score_values`` takes them.
        untold: score -> the trials without failure for which it could not be determined.
        described: the descriptions of scores by name.
    """
    return {
        found.name: found.summary(
            quality=found.name in quality,
            untold=(untold or {}).get(found.name, 0),
            description=(described or {}).get(found.name),
        )
        for found in score_values(trials, chosen, quality, absent, first_apart=first_apart)
    }
