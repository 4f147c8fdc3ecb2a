"""Pilots: comparisons that are yet to be made are drawn from one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

TOLERANCE = 1e-12

FINEST = 60
"""Parts of a point that differences can be multiples of; finer ones are taken for continuous."""

CAUTION = 1.6
"""How many times its squared relative error a variance is raised, so that plans hold on average over pilots: a pilot
that shows too small a variance costs more power than one that shows too large a variance gains. By simulation."""

MOST_ERROR = 0.7
"""The largest squared relative error that is allowed for."""


@dataclass(frozen=True)
class Pilot:
    """The differences between two conditions in a pilot, and comparisons like it.

    Attributes:
        differences: of each query, those of its repeats; at least two queries, and one difference that is not 0.
    """

    differences: tuple[tuple[float, ...], ...]

    @property
    def queries(self) -> int:
        """The number in the pilot."""
        return len(self.differences)

    @cached_property
    def repeats(self) -> float:
        """The repeats of its queries, as their harmonic mean."""
        return 1 / fmean(1 / len(own) for own in self.differences)

    @cached_property
    def changed(self) -> float | None:
        """The share of trials that differ, where each differs by a whole point; None where some differ by less."""
        values = [value for own in self.differences for value in own]
        whole = all(min(abs(value), abs(abs(value) - 1)) < TOLERANCE for value in values)
        return fmean(abs(value) for value in values) if whole else None

    @cached_property
    def within(self) -> float:
        """The variance of one query's difference from repeat to repeat; 0 where it is not known."""
        return float(self._noise.mean())

    @cached_property
    def between(self) -> float:
        """The variance of the queries' own differences; with the noise of repeats where that is not known apart."""
        return max(0.0, float(self._means.var(ddof=1)) - self.within / self.repeats)

    @cached_property
    def step(self) -> float:
        """The largest number that all differences are multiples of; 0 where it is small, or they have none."""
        values = {value for own in self.differences for value in own}
        parts = {Fraction(abs(value)).limit_denominator(FINEST) for value in values if abs(value) > TOLERANCE}
        exact = all(min(abs(abs(value) - float(part)) for part in (*parts, Fraction(0))) < 1e-9 for value in values)
        whole = math.lcm(*(part.denominator for part in parts))
        if not parts or not exact or whole > FINEST:
            return 0.0
        return math.gcd(*(int(part * whole) for part in parts)) / whole

    def error(self, repeats: int, difference: float) -> float:
        """The relative standard error of the variance that the pilot gives for this number of repeats."""
        return math.sqrt(self._variance(repeats, difference)[1])

    def variance(self, repeats: int, difference: float) -> float:
        """The variance of a query's mean over so many repeats where the mean of all is this; without bias."""
        return self._variance(repeats, difference)[0]

    def draw(
        self, random: Generator, comparisons: int, queries: int, repeats: int, difference: float
    ) -> tuple[NDArray[Any], float]:
        """Differences of queries in comparisons with this true mean, each from another population.

        The populations are those that the pilot leaves open (D. B. Rubin, "The Bayesian Bootstrap", The Annals of
        Statistics 9 (1981), 130-134).

        Returns:
            Of shape (comparisons, queries), and what they are multiples of where the pilot's differences are whole.
        """
        import numpy as np

        variance, error = self._variance(repeats, difference)
        variance *= math.exp(CAUTION * min(error, MOST_ERROR))
        # What the populations vary by is known when they have been drawn; the size of differences makes up for it.
        drawn = self._draw(random, 200, 60, repeats, difference)
        factor = math.sqrt(min(4.0, max(0.05, (variance + difference**2) / max(1e-9, float(np.mean(drawn**2))))))
        return self._draw(random, comparisons, queries, repeats, difference / factor) * factor, factor

    def _variance(self, repeats: int, difference: float) -> tuple[float, float]:
        """The variance of means over so many repeats, and the square of its relative error."""
        deviations = self._means - self._means.mean()
        counts = self._counts
        noise = self._noise * (1 / repeats - 1 / counts) if self.within else 0.0
        own = deviations**2 * self.queries / (self.queries - 1) + noise
        found = max(float(own.mean()), 0.5 * self.within / repeats, 1e-9)
        # A pilot with another mean than the true one has another variance, too, where differences are skewed.
        skewed = self._trust(difference) * float((deviations**3).mean()) / max(1e-12, float(deviations.var()))
        moved = found + skewed * (difference - float(self._means.mean()))
        error = float((own - skewed * deviations).var(ddof=1)) / self.queries / found**2
        return max(0.25 * found, moved), error

    def _trust(self, difference: float) -> float:
        """Return the agreement of a mean with that of the pilot, from 0 to 1."""
        error = max(1e-12, float(self._means.var(ddof=1)) / self.queries)
        return math.exp(-((difference - float(self._means.mean())) ** 2) / (8 * error))

    def _draw(self, random: Generator, comparisons: int, queries: int, repeats: int, difference: float) -> NDArray[Any]:
        """Differences as those of the pilot, with another mean.

        A trial is one of its query's own, or one of any query: the share of its own is such that means of queries vary
        as much as they do in the pilot without the noise of repeats.
        """
        import numpy as np

        weights = self._weights(random, comparisons, difference)
        own_share = self._own_share(weights, repeats)
        turned, raised, sign = self._shift(weights, own_share, difference)
        chosen = _PilotChoice(weights, random)
        shape = (comparisons, queries)
        owner = chosen.draw(queries)
        is_turned = (random.random(shape) < turned) & (np.sign(self._means[owner]) == sign)
        is_raised = random.random(shape) < raised
        total = np.zeros(shape)
        for _ in range(repeats):
            own = self._trial(random, owner)
            own = self._raised(np.where(is_turned, -own, own), is_raised, raised)
            if own_share.min() < 1:
                other = self._trial(random, chosen.draw(queries))
                other = np.where((random.random(shape) < turned) & (np.sign(other) == sign), -other, other)
                other = self._raised(other, random.random(shape) < raised, raised)
                own = np.where(random.random(shape) < own_share[:, None], own, other)
            total += own
        # Sums of tenths that are 0 should be 0: it counts which queries differ.
        return np.round(total / repeats, 9)

    def _raised(self, trials: NDArray[Any], chosen: NDArray[Any], share: NDArray[Any]) -> NDArray[Any]:
        """The chosen trials won altogether; or, where differences have no step, all trials better by as much."""
        import numpy as np

        return np.where(chosen, 1.0, trials) if self.step else trials + share

    def _weights(self, random: Generator, comparisons: int, difference: float) -> NDArray[Any]:
        """The queries' weights in each population; tilted towards the difference as far as it is that of the pilot."""
        import numpy as np

        weights = random.standard_exponential(size=(comparisons, self.queries))
        weights /= weights.sum(1)[:, None]
        mean = weights @ self._means
        spread = np.maximum(weights @ self._means**2 - mean**2, 1e-12)
        tilt = self._trust(difference) * (difference - mean) / spread
        weights *= np.maximum(0.0, 1 + tilt[:, None] * (self._means[None, :] - mean[:, None]))
        weights /= weights.sum(1)[:, None]
        tilted: NDArray[Any] = weights
        return tilted

    def _own_share(self, weights: NDArray[Any], repeats: int) -> NDArray[Any]:
        import numpy as np

        if repeats == 1:
            return np.zeros(len(weights))
        if not self.within:
            return np.ones(len(weights))
        means = np.maximum(weights @ self._means**2 - (weights @ self._means) ** 2, 1e-12)
        noise = weights @ (self._noise / self._counts)
        between = np.maximum(means * self.queries / (self.queries - 1) - noise, 0.0)
        share: NDArray[Any] = np.minimum(1.0, np.sqrt(between / means))
        return share

    def _shift(
        self, weights: NDArray[Any], own_share: NDArray[Any], difference: float
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the shares of differences to turn round, and then to raise, for the mean; the sign of the turned."""
        import numpy as np

        mean = weights @ self._means
        is_up = difference > mean
        sign = np.where(is_up, -1.0, 1.0)
        own = weights @ np.maximum(-self._means, 0), weights @ np.maximum(self._means, 0)
        trials = weights @ self._parts(-1), weights @ self._parts(1)
        parts = [own_share * own[side] + (1 - own_share) * trials[side] for side in (0, 1)]
        room = 2 * np.where(is_up, *parts)
        turned = np.minimum(1.0, np.abs(difference - mean) / np.maximum(room, 1e-12))
        reached = mean - sign * turned * room
        is_short = is_up & (reached < difference - TOLERANCE)
        left = difference - reached
        raised = np.where(is_short, left / np.maximum(1 - reached, 1e-12) if self.step else left, 0.0)
        return turned[:, None], raised[:, None], sign[:, None]

    def _parts(self, sign: int) -> NDArray[Any]:
        """The mean of each query's positive or negative part."""
        import numpy as np

        return np.array([fmean(max(0.0, sign * value) for value in own) for own in self.differences])

    def _trial(self, random: Generator, owners: NDArray[Any]) -> NDArray[Any]:
        drawn: NDArray[Any] = self._table[owners, (random.random(owners.shape) * self._counts[owners]).astype(int)]
        return drawn

    @cached_property
    def _counts(self) -> NDArray[Any]:
        import numpy as np

        return np.array([len(own) for own in self.differences])

    @cached_property
    def _table(self) -> NDArray[Any]:
        import numpy as np

        most = int(self._counts.max())
        return np.array([[*own, *[0.0] * (most - len(own))] for own in self.differences])

    @cached_property
    def _means(self) -> NDArray[Any]:
        import numpy as np

        return np.array([fmean(own) for own in self.differences])

    @cached_property
    def _noise(self) -> NDArray[Any]:
        """The variance of each query's repeats; the mean of the others' where it has one only."""
        import numpy as np

        own = [float(np.var(values, ddof=1)) if len(values) > 1 else None for values in self.differences]
        known = [value for value in own if value is not None]
        usual = fmean(known) if known else 0.0
        return np.array([usual if value is None else value for value in own])


class _PilotChoice:
    """Draws queries by their weights, which are others in each comparison."""

    def __init__(self, weights: NDArray[Any], random: Generator) -> None:
        import numpy as np

        summed = np.cumsum(weights, axis=1)
        self._count = weights.shape[1]
        self._offsets = np.arange(len(weights))[:, None]
        self._ends = (summed / summed[:, -1:] + self._offsets).ravel()
        self._random = random

    def draw(self, queries: int) -> NDArray[Any]:
        import numpy as np

        shape = (len(self._offsets), queries)
        places = np.searchsorted(self._ends, (self._random.random(shape) + self._offsets).ravel()).reshape(shape)
        found: NDArray[Any] = np.minimum(places - self._offsets * self._count, self._count - 1)
        return found


def as_pilot(differences: Sequence[Sequence[float]]) -> Pilot:
    """The pilot of these differences: for each query, those of its repeats.

    Raises:
        ValueError: there are too few queries.
    """
    # In whichever order the trials ended, the same comparisons are drawn.
    repeated = tuple(sorted(tuple(sorted(own)) for own in differences if own))
    if len(repeated) < 2:
        raise ValueError("the spread of differences needs at least two queries")
    return Pilot(repeated)
