"""How often comparisons that ``bench plan`` plans have the verdict that it promises, by simulation.

Pilots are drawn from populations of queries whose frameworks differ by a known amount. Each pilot plans the number of
queries that find this difference with a chance of 80 %; comparisons with so many queries are drawn from the same
population, and get their verdicts. ``--equivalence`` does so for frameworks that are equally good.

docs/how-to/plan-an-experiment.md has figures. Each verdict is the public one, so a line takes minutes.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialbed.statistics import PairedVerdict, paired_interval, paired_test, paired_verdict
from trialbed_evaluation.planning import is_promised, pilot_of, queries_for, queries_for_equivalence

POWER = 0.8

MARGIN = 0.1

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
    """Few queries differ, by a lot: most of them for the better."""
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

MOST = {"mostly solved": 0.39, "rarely better": 0.7, "uneven": 0.24}
"""The largest differences that populations can have."""

PLANS = ((1, 1), (1, 3), (3, 3), (5, 5), (10, 10), (3, 10), (5, 3), (10, 5))
"""Repeats that are planned, and of the pilot."""


def verdict(differences: list[float]) -> PairedVerdict:
    p = paired_test(differences, draws=499).p
    return paired_verdict(paired_interval(differences), p, MARGIN, changed=any(differences))


@cache
def real_power(name: str, queries: int, repeats: int, difference: float, draws: int, equivalence: bool) -> float:
    """The share of comparisons with the verdict."""
    random = np.random.default_rng((queries, repeats))
    wanted = "equivalent" if equivalence else "better"
    found = 0
    for _ in range(draws):
        means = np.round(POPULATIONS[name](random, (queries, repeats), difference).mean(1), 9)
        found += verdict(means.tolist()) == wanted
    return found / draws


def difference_for(name: str, queries: int, repeats: int) -> float:
    """The difference that so many queries find with the power."""
    low, high = 0.0, MOST.get(name, 0.9)
    for _ in range(9):
        middle = round((low + high) / 2, 5)
        low, high = (middle, high) if real_power(name, queries, repeats, middle, 400, False) < POWER else (low, middle)
    return round((low + high) / 2, 4)


def planned_powers(name: str, size: int, plan: tuple[int, int], difference: float, arguments: Any) -> list[float]:
    """The true powers of what pilots plan, those that promise one."""
    population = POPULATIONS[name]
    repeats, own = plan
    random = np.random.default_rng(1)
    powers = []
    for _ in range(arguments.pilots):
        pilot = pilot_of(np.round(population(random, (size, own), difference), 9).tolist())
        if not is_promised(pilot, repeats, difference):
            continue
        if arguments.equivalence:
            queries = queries_for_equivalence(pilot, MARGIN, repeats=repeats, power=POWER)
        else:
            queries = queries_for(pilot, difference, repeats=repeats, power=POWER)
        # Numbers within 2 % of one another share a simulation.
        near = round(1.02 ** round(np.log(queries or 1) / np.log(1.02)))
        powers.append(real_power(name, near, repeats, difference, arguments.draws, arguments.equivalence))
    return powers


def powers(arguments: Any) -> None:
    """Print a line for each population, number of queries and of repeats, and a summary for each size of pilot."""
    print("| scores | queries | repeats | difference | pilot | promised by | chance of the verdict | of nine in ten |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    found: dict[tuple[int, str], list[float]] = {}
    for name in arguments.scores.split(","):
        for plan in [plan for plan in PLANS if plan[0] in arguments.repeats and plan[1] in arguments.repeats]:
            for queries in [0] if arguments.equivalence else arguments.queries:
                difference = 0.0 if arguments.equivalence else difference_for(name, queries, plan[0])
                for size in arguments.sizes:
                    own = planned_powers(name, size, plan, difference, arguments)
                    if len(own) < 10:
                        continue
                    low, high = np.quantile(own, (0.05, 0.95))
                    mean, share = statistics.fmean(own), len(own) / arguments.pilots
                    error = statistics.stdev(own) / len(own) ** 0.5
                    print(
                        f"| {name} | {queries or ''} | {plan[0]} | {difference:.3f} | {size} x {plan[1]} "
                        f"| {share:.0%} | {mean:.1%} ± {error:.1%} | {low:.0%} to {high:.0%} |",
                        flush=True,
                    )
                    kind = "more" if plan[0] > plan[1] else "as many or fewer"
                    found.setdefault((size, kind), []).append(mean)
    for (size, kind), means in sorted(found.items()):
        inside = sum(abs(mean - POWER) <= 0.03 for mean in means)
        print(
            f"pilots of {size}, {kind} repeats: {min(means):.1%} to {max(means):.1%}, "
            f"{inside} of {len(means)} within three points"
        )


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pilots", type=int, default=100)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--scores", default=",".join(POPULATIONS))
    parser.add_argument("--queries", type=numbers, default=[20, 60, 100, 300])
    parser.add_argument("--repeats", type=numbers, default=[1, 3, 5, 10])
    parser.add_argument("--sizes", type=numbers, default=[40, 60, 100, 300])
    parser.add_argument("--equivalence", action="store_true")
    powers(parser.parse_args())
