"""Pilots: small runs of the conditions that are to be compared, and populations that could have given them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, islice, repeat
from statistics import fmean, variance
from typing import TYPE_CHECKING, Any

from trialbed.statistics import LARGE

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

DIGITS = 9
"""Decimals of a difference: sums of tenths that are 0 should be 0, because tests count the queries that differ."""

UNSEEN_WEIGHT = 0.4
"""The queries that are added to a pilot at either end, as large as the largest difference in it."""

CHOICES = 300
"""The most choices of repeats that are looked at for one query."""

REACH = 1.25
"""The least size of those queries, in differences that are asked for."""

SIZES = (1.0, 0.5, 0.25)
"""The sizes of the queries that are added to a pilot whose differences are all the same: it shows none."""

STEPS = 20
"""Steps to which differences of more values are rounded: verdicts take a time that grows with their number."""

FINE_STEPS = 200
"""Steps to which differences of more values are rounded in very large pilots, so that some are alike."""

HALVINGS = 50


@dataclass(frozen=True)
class Populations:
    """Populations of queries that are compared.

    Attributes:
        values: the differences that a query can have, of shape (populations, values).
        weights: the share of queries with each of them, of the same shape.
    """

    values: NDArray[Any]
    weights: NDArray[Any]

    @property
    def variances(self) -> NDArray[Any]:
        """The variance of a query's difference in each population."""
        mean = (self.weights * self.values).sum(1, keepdims=True)
        found: NDArray[Any] = (self.weights * (self.values - mean) ** 2).sum(1)
        return found

    @property
    def is_whole(self) -> bool:
        """Return whether each query is won, lost or tied as a whole."""
        return bool(((self.values == 0) | (abs(self.values) == 1)).all())

    def draw(self, random: Generator, queries: int) -> NDArray[Any]:
        """Return a comparison of so many queries from each population: how often each of the values occurs in it."""
        found: NDArray[Any] = random.multinomial(queries, self.weights)
        return found


@dataclass(frozen=True)
class Pilot:
    """The differences between two conditions in a pilot.

    Attributes:
        kinds: the differences of a query's repeats, and how many queries have them; at least two queries, in order.
        is_certain: it is a whole population instead of a sample from one.
    """

    kinds: tuple[tuple[tuple[float, ...], int], ...]
    is_certain: bool = False

    @property
    def queries(self) -> int:
        """The number of queries in the pilot; 0 where it is a whole population."""
        return 0 if self.is_certain else self._count

    @cached_property
    def _count(self) -> int:
        return sum(times for _, times in self.kinds)

    @cached_property
    def repeats(self) -> float:
        """The repeats of its queries, as their harmonic mean."""
        return 1 / self._mean([1 / len(own) for own, _ in self._alike])

    @cached_property
    def difference(self) -> float:
        """The mean difference of its queries, which are not rounded for it."""
        return fmean(chain.from_iterable(repeat(round(fmean(own), DIGITS), times) for own, times in self.kinds))

    @cached_property
    def changed(self) -> float | None:
        """The share of trials that differ, where each differs by a whole point; None where some differ by less."""
        if not self._values <= {-1.0, 0.0, 1.0}:
            return None
        sizes = ((sum(map(abs, own)) * times, len(own) * times) for own, times in self.kinds)
        changed, trials = map(sum, zip(*sizes, strict=True))
        return float(changed / trials)

    @cached_property
    def is_uniform(self) -> bool:
        """Whether all of its trials differ by the same, so that it shows no spread at all."""
        return len(self._values) == 1

    @cached_property
    def _values(self) -> set[float]:
        return {value for own, _ in self.kinds for value in own}

    @cached_property
    def within(self) -> float:
        """The variance of one query's difference from repeat to repeat; 0 where it is not known."""
        return self._mean(self._noise)

    @cached_property
    def between(self) -> float:
        """The variance of the queries' own differences; with the noise of repeats where that is not known apart."""
        spread = math.fsum(
            times * (mean - self.difference) ** 2 for mean, times in zip(self._means, self._times, strict=True)
        )
        return max(0.0, spread / (self._count - 1) - self.within / self.repeats)

    def populations(self, count: int, repeats: int, difference: float) -> Populations:
        """Draw populations that the pilot leaves open, with this mean difference of queries.

        They are those of the Bayesian bootstrap (D. B. Rubin, The Annals of Statistics 9 (1981), 130-134), in which
        queries that the pilot lacks have a share, too. Each is tilted exponentially to the mean, which changes it least
        (B. Efron, "Nonparametric Standard Errors and Confidence Intervals", Canadian Journal of Statistics 9 (1981),
        139-158). A query of the pilot with more repeats than are planned stands for all choices of so many of them. One
        with fewer has its difference made smaller by the noise that more repeats take away.
        """
        import numpy as np

        choices, seen = self._repeated(repeats)
        largest = 1.0 if self.is_uniform else max(map(abs, seen))
        end = max(largest, min(1.0, REACH * abs(difference)))
        unseen = [sign * end * size for sign in (-1, 1) for size in (SIZES if self.is_uniform else SIZES[:1])]
        if len(seen.union(unseen)) == 2:
            # Between two values a mean has one variance, which no pilot shows that well.
            unseen.append(0.0)
        if not self.is_certain:
            choices = [*choices, *(Counter([value]) for value in unseen)]
        values, shares = _shares(choices)
        even = np.full((1, len(shares)), 1 / len(shares))
        queries = even if self.is_certain else self._bootstrap(count, len(unseen))
        weights = queries @ shares
        column = np.tile(values, (len(queries), 1))
        if self.within and repeats > self.repeats:
            column = np.round(column * self._shrinkage(queries[:, : len(self._alike)], repeats), DIGITS)
        weights = _tilt_to(column, weights, difference)
        copies = count // len(queries)
        return Populations(column.repeat(copies, 0), weights.repeat(copies, 0))

    def _repeated(self, repeats: int) -> tuple[Sequence[Counter[float]], set[float]]:
        """Return how often so many repeats of each query have each mean, in steps, and all means before that."""
        if repeats not in self._choices:
            found = [_choices(own, repeats) for own, _ in self._alike]
            seen = {value for own in found for value in own}
            if len(seen) > 2 * STEPS:
                step = (1.0 if self.is_uniform else max(map(abs, seen))) / STEPS
                found = [_count_in_steps(own, step) for own in found]
            self._choices[repeats] = found, seen
        return self._choices[repeats]

    def _bootstrap(self, count: int, unseen: int) -> NDArray[Any]:
        """Return the weights of the queries in so many populations: the same ones whenever it is asked for."""
        import numpy as np

        known = self._weights.get(unseen)
        if known is None or len(known) < count:
            # The sum of so many shares of a Bayesian bootstrap, each of which has the shape 1.
            shapes = [*map(float, self._times), *[UNSEEN_WEIGHT] * unseen]
            known = np.random.default_rng(0).standard_gamma(shapes, (count, len(shapes)))
            known /= known.sum(1, keepdims=True)
            self._weights[unseen] = known
        return known[:count]

    @cached_property
    def _choices(self) -> dict[int, tuple[Sequence[Counter[float]], set[float]]]:
        return {}

    @cached_property
    def _weights(self) -> dict[int, NDArray[Any]]:
        return {}

    def _shrinkage(self, weights: NDArray[Any], repeats: int) -> NDArray[Any]:
        """Return the factor by which more repeats make differences smaller in each population."""
        import numpy as np

        means = np.array(self._means)
        weights = weights / weights.sum(1, keepdims=True)
        square = weights @ means**2
        noise = weights @ np.array([own / len(all_) for own, (all_, _) in zip(self._noise, self._alike, strict=True)])
        lost = noise * (1 - self.repeats / repeats)
        found: NDArray[Any] = np.sqrt(np.maximum(square - lost, noise - lost) / np.maximum(square, 1e-12))
        factor: NDArray[Any] = np.minimum(1.0, found)[:, None]
        return factor

    @cached_property
    def _alike(self) -> list[tuple[tuple[float, ...], int]]:
        """The differences of queries, and of how many: of very many queries, those that are alike are taken at once."""
        if self._count <= LARGE:
            return [(own, 1) for own, times in self.kinds for _ in range(times)]
        if len(self._values) <= 2 * FINE_STEPS:
            return list(self.kinds)
        step = max(map(abs, self._values)) / FINE_STEPS
        found: Counter[tuple[float, ...]] = Counter()
        for own, times in self.kinds:
            found[tuple(_in_steps(value, step) for value in own)] += times
        return list(found.items())

    @cached_property
    def _times(self) -> list[int]:
        return [times for _, times in self._alike]

    def _mean(self, values: Sequence[float]) -> float:
        """Return the mean over queries of a value of those that are alike."""
        return fmean(values, self._times)

    @cached_property
    def _means(self) -> list[float]:
        return [round(fmean(own), DIGITS) for own, _ in self._alike]

    @cached_property
    def _noise(self) -> list[float]:
        """The variance of each query's repeats; the mean of the others' where it has one only."""
        own = [variance(values) if len(values) > 1 else None for values, _ in self._alike]
        known = [(value, times) for value, times in zip(own, self._times, strict=True) if value is not None]
        usual = fmean(*zip(*known, strict=True)) if known else 0.0
        return [usual if value is None else value for value in own]


WORST_CASE = Pilot((((1.0,), 1), ((-1.0,), 1)), is_certain=True)
"""Each query is won or lost as a whole: no scores in [0, 1] vary more."""


def pilot_of(differences: Iterable[Sequence[float]] | Mapping[tuple[float, ...], int]) -> Pilot:
    """Return the pilot of these differences, in favour of the side that did better in it.

    Args:
        differences: for each query, those of its repeats; or how many queries have them.

    Raises:
        ValueError: there are fewer than two queries.
    """
    counts = Counter(differences if isinstance(differences, Mapping) else map(tuple, differences))
    known = {own: times for own, times in counts.items() if own}
    if sum(known.values()) < 2:
        raise ValueError("the spread of differences needs at least two queries")
    total = math.fsum(chain.from_iterable(repeat(fmean(own), times) for own, times in known.items()))
    sign = 1 if total >= 0 else -1
    found: Counter[tuple[float, ...]] = Counter()
    for own, times in known.items():
        found[tuple(sorted(round(sign * value, DIGITS) for value in own))] += times
    # In whichever order the trials ended, the same comparisons are drawn.
    return Pilot(tuple(sorted(found.items())))


def _choices(values: Sequence[float], repeats: int) -> Counter[float]:
    """Count the means that so many of a query's repeats can have."""
    if repeats >= len(values):
        return Counter([round(fmean(values), DIGITS)])
    return Counter(round(fmean(chosen), DIGITS) for chosen in islice(combinations(values, repeats), CHOICES))


def _shares(choices: Sequence[Counter[float]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return all values in order, and the share of each in each of the choices."""
    import numpy as np

    values = sorted(set().union(*choices))
    places = {value: place for place, value in enumerate(values)}
    shares = np.zeros((len(choices), len(values)))
    for own, found in zip(choices, shares, strict=True):
        for value, times in own.items():
            found[places[value]] = times
    return np.array(values), shares / shares.sum(1, keepdims=True)


def _count_in_steps(values: Counter[float], step: float) -> Counter[float]:
    found: Counter[float] = Counter()
    for value, times in values.items():
        found[_in_steps(value, step)] += times
    return found


def _in_steps(value: float, step: float) -> float:
    return round(round(value / step) * step, DIGITS)


def _tilt_to(values: NDArray[Any], weights: NDArray[Any], mean: float) -> NDArray[Any]:
    """Return the weights multiplied by the exponential of a multiple of the values, such that the mean is this one."""
    import numpy as np

    size = np.abs(values).max(1, keepdims=True)

    def weights_at(tilt: NDArray[Any]) -> NDArray[Any]:
        found: NDArray[Any] = weights * np.exp(tilt * values / size - np.abs(tilt))
        found /= found.sum(1, keepdims=True)
        return found

    low, high = np.full_like(size, -40.0), np.full_like(size, 40.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_less = (weights_at(middle) * values).sum(1, keepdims=True) < mean
        low, high = np.where(is_less, middle, low), np.where(is_less, high, middle)
    return weights_at((low + high) / 2)
