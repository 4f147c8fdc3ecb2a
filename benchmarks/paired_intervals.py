"""How often the interval of paired differences holds the truth, and how often verdicts err, by simulation.

Comparisons are drawn from the populations of ``plan_power.py``, and from one in which a few queries lose all and the
others nothing: most small samples have none of these. With it, ``queries_needed`` is tried: how often comparisons of as
many queries as it says, drawn from the sample that it saw, have a verdict.

docs/how-to/compare-runs.md has figures.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from plan_power import MARGIN, POPULATIONS, Population, verdict

from trialbed.statistics import DifferenceSpread, paired_intervals, queries_needed

DIFFERENCES = (0.0, 0.1, 0.2)

PILOTS = ((30, 2, 0.05), (30, 2, 0.15), (60, 3, 0.03), (60, 1, 0.1))
"""Queries, repeats and differences of the samples that say how many queries are needed."""

LARGE_SAMPLE = 400_000

FEW_CHANGE = 5
"""Queries that change, below which a sample has few outcomes."""


def rare_losses(random: np.random.Generator, shape: tuple[int, int], difference: float) -> NDArray[Any]:
    """A few queries lose all, the others next to nothing."""
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
                enough = queries_needed(DifferenceSpread.of(seen), MARGIN)
                if enough is None or enough.queries > 4_000:
                    continue
                verdicts = [verdict(random.choice(seen, enough.queries).tolist()) for _ in range(draws)]
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
