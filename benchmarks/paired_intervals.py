"""Simulate how often the interval of paired differences holds the truth, and how often verdicts are wrong.

Comparisons are drawn from several populations, including one with a few queries that lose all and others that lose
nothing: most small samples contain no losing query. With ``--needed``, ``Pilot.enough`` is tested: how often
comparisons of the estimated number of queries, drawn from the same population as the pilot, have a verdict.

docs/how-to/compare-runs.md has figures.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialbed.statistics import PairedVerdict, Pilot, paired_interval, paired_intervals, paired_test, paired_verdict

MARGIN = 0.1

DIFFERENCES = (0.0, 0.1, 0.2)

PILOTS = ((30, 2, 0.05), (30, 2, 0.15), (60, 3, 0.03), (60, 1, 0.1))
"""Queries, repeats and differences of the samples that say how many queries are needed."""

LARGE_SAMPLE = 400_000

FEW_CHANGE = 5
"""The fewest changed queries for a sample with more than a few outcomes."""


Population = Callable[[np.random.Generator, tuple[int, int], float], NDArray[Any]]


def solved(random: np.random.Generator, one: NDArray[Any], other: NDArray[Any], repeats: int) -> NDArray[Any]:
    """Differences of trials that are solved with these chances."""
    shape = (len(one), repeats)
    return (random.random(shape) < other) * 1.0 - (random.random(shape) < one)


def alike(random: np.random.Generator, shape: tuple[int, int], difference: float) -> NDArray[Any]:
    """Queries of every difficulty, all of them easier by as much for the candidate; solved or not."""
    chance = random.beta(1.2, 0.8, (shape[0], 1)) * (1 - difference)
    return solved(random, chance, chance + difference, shape[1])


def mostly_solved(random: np.random.Generator, shape: tuple[int, int], difference: float) -> NDArray[Any]:
    """Three queries of five never differ; on the others the frameworks are good at different things."""
    one = random.beta(0.8, 0.8, (shape[0], 1))
    other = 0.35 * random.beta(0.8, 0.8, one.shape) + 0.65 * one
    shift = difference / 0.4
    found = solved(random, one * (1 - shift), other * (1 - shift) + shift, shape[1])
    return np.where(random.random(one.shape) < 0.6, 0.0, found)


def graded(random: np.random.Generator, shape: tuple[int, int], difference: float) -> NDArray[Any]:
    """Solved, Unsure and Unsolved, as 1, 0.5 and 0."""
    return counted(random, shape, difference, np.full((shape[0], 1), 2), random.beta(1.0, 0.7, (shape[0], 1)))


def calls(random: np.random.Generator, shape: tuple[int, int], difference: float) -> NDArray[Any]:
    """Shares of one to four gold calls."""
    return counted(
        random, shape, difference, random.integers(1, 5, (shape[0], 1)), random.beta(3.0, 1.0, (shape[0], 1))
    )


def counted(
    random: np.random.Generator, shape: tuple[int, int], difference: float, parts: NDArray[Any], one: NDArray[Any]
) -> NDArray[Any]:
    other = one + random.uniform(-0.6, 0.6, one.shape) * np.minimum(one, 1 - one)

    def score(chance: NDArray[Any]) -> NDArray[Any]:
        drawn: NDArray[Any] = random.binomial(np.broadcast_to(parts, shape), np.broadcast_to(chance, shape)) / parts
        return drawn

    return score(other * (1 - difference) + difference) - score(one * (1 - difference))


def rarely_better(random: np.random.Generator, shape: tuple[int, int], difference: float) -> NDArray[Any]:
    """Draw few differing queries with a large difference, most of them for the better."""
    place = random.random((shape[0], 1))
    gains = difference / 0.8 + 0.05
    one = np.where(place < gains, 0.1, 0.9)
    other = np.where((place >= gains) & (place < gains + 0.05), 0.1, 0.9)
    return solved(random, one, other, shape[1])


def smooth(random: np.random.Generator, shape: tuple[int, int], difference: float) -> NDArray[Any]:
    """Scores without a step, such as F1 over many calls."""
    own = difference + random.normal(0, 0.12, (shape[0], 1))
    return np.clip(own + random.normal(0, 0.2, shape), -1, 1)


def uneven(random: np.random.Generator, shape: tuple[int, int], difference: float) -> NDArray[Any]:
    """A third of the queries gains nothing, a third as much as the mean, and a third twice as much; solved or not."""
    one = random.beta(2.0, 2.0, (shape[0], 1))
    gain = 2 * difference * random.integers(0, 3, one.shape)
    return solved(random, one, one + gain * (1 - one), shape[1])


POPULATIONS: dict[str, Population] = {
    "alike": alike,
    "mostly solved": mostly_solved,
    "graded": graded,
    "calls": calls,
    "rarely better": rarely_better,
    "smooth": smooth,
    "uneven": uneven,
}


def verdict(differences: list[float]) -> PairedVerdict:
    p = paired_test(differences, draws=499).p
    return paired_verdict(paired_interval(differences), p, MARGIN, changed=any(differences))


def rare_losses(random: np.random.Generator, shape: tuple[int, int], difference: float) -> NDArray[Any]:
    """Draw a few queries that lose all, and others that lose next to nothing."""
    chance = random.beta(30, 2, (shape[0], 1))
    theirs = np.where(random.random(chance.shape) < (difference or 0.05), 0.0, chance)
    return (random.random(shape) < chance) * 1.0 - (random.random(shape) < theirs)


def means_of(
    population: Population, random: np.random.Generator, shape: tuple[int, int], difference: float
) -> NDArray[Any]:
    found: NDArray[Any] = np.round(population(random, shape, difference).mean(1), 9)
    return found


def cells(queries: int, repeats: int, draws: int) -> Iterator[tuple[str, float, float]]:
    """Yield the population, the queries that change on average, and the share of intervals that hold the truth."""
    random = np.random.default_rng((queries, repeats))
    for name, population in {**POPULATIONS, "rare losses": rare_losses}.items():
        for difference in DIFFERENCES:
            truth = means_of(population, random, (LARGE_SAMPLE // repeats, repeats), difference).mean()
            rows = means_of(population, random, (draws * queries, repeats), difference).reshape(draws, queries)
            low, high = paired_intervals(rows, np.ones_like(rows, dtype=np.int64))
            changed = float((rows != 0).sum(1).mean())
            yield name, changed, float(((low <= truth) & (truth <= high)).mean())


def coverage(sizes: list[int], repeats: list[int], draws: int) -> None:
    print("| queries | repeats | least | most | pairs | rare losses, least |")
    print("| --- | --- | --- | --- | --- | --- |")
    for queries in sizes:
        for own in repeats:
            found = list(cells(queries, own, draws))
            usual = [share for name, changed, share in found if name != "rare losses" and changed >= FEW_CHANGE]
            rare = min(share for name, _, share in found if name == "rare losses")
            print(
                f"| {queries} | {own} | {min(usual):.1%} | {max(usual):.1%} | {len(usual)} | {rare:.1%} |", flush=True
            )


def needed(samples: int, draws: int) -> None:
    """Print how often comparisons of as many queries as are said to be needed have a verdict."""
    found: list[list[float]] = []
    random = np.random.default_rng(3)
    for population in POPULATIONS.values():
        for queries, repeats, difference in PILOTS:
            shares = []
            for _ in range(samples):
                seen = means_of(population, random, (queries, repeats), difference)
                enough = Pilot.of(seen).enough(MARGIN, beyond=queries)
                if enough is None or enough.queries > 4_000:
                    continue
                drawn = means_of(population, random, (draws * enough.queries, repeats), difference)
                verdicts = [verdict(own.tolist()) for own in drawn.reshape(draws, enough.queries)]
                shares.append(sum(one != "too few" for one in verdicts) / draws)
            found.append(shares)
    means = [sum(shares) / len(shares) for shares in found if shares]
    every = [share for shares in found for share in shares]
    print(f"verdicts with as many queries as are needed: {min(means):.0%} to {max(means):.0%} on average,")
    print(f"{np.quantile(every, 0.05):.0%} to {np.quantile(every, 0.95):.0%} for nine samples in ten")


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=numbers, default=[20, 60, 300])
    parser.add_argument("--repeats", type=numbers, default=[1, 3, 10])
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("--needed", action="store_true", help="try the numbers of queries that are said to be needed")
    options = parser.parse_args()
    if options.needed:
        needed(samples=12, draws=60)
    else:
        coverage(options.queries, options.repeats, options.draws)
