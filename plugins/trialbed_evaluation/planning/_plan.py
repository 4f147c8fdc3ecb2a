"""The plan of a comparison: the differences that a number of queries can show, by the spread of a pilot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

from trialbed.errors import DataError, UsageError
from trialbed.report.comparison import (
    ALPHA,
    QueryId,
    Side,
    are_same_trials,
    chosen_baseline,
    incomplete_note,
    read_sides,
    unique_names,
)
from trialbed.settings import MARGIN
from trialbed_evaluation.planning._pilots import Pilot
from trialbed_evaluation.planning._power import (
    WORST_CASE,
    Spread,
    difference_spread,
    is_promised,
    pilot_needed,
    power_range,
    queries_for,
    queries_for_equivalence,
    smallest_difference,
    variance_range,
)

TOKENS = "total_tokens"

FEWEST = 6
"""Queries below which no test of signs is below 0.05."""


@dataclass(frozen=True)
class QueryPlanOptions:
    """The aim of a comparison.

    Attributes:
        score: a bounded one.
        queries, repeats: the numbers that are looked at.
        difference: the one that is to be found.
        power: the chance with which it is to be found.
        comparisons: how many are made together; 0 for as many as the pilot has.
        margin: the largest difference that does not matter.
    """

    score: str = "sopr_score"
    queries: Sequence[int] = (20, 60, 120, 300, 1000)
    repeats: Sequence[int] = (1,)
    difference: float = 0.1
    power: float = 0.8
    comparisons: int = 0
    margin: float = MARGIN


def plan(sides: Sequence[Side], baseline: Side | None, options: QueryPlanOptions) -> dict[str, Any]:
    """The plan as JSON.

    Args:
        sides: those of the pilot; with fewer than two, the plan is for the worst case.
        baseline: the one of them that the others are compared with.

    Raises:
        DataError: the pilot has too few queries, or lacks the score.
    """
    for side in sides:
        _check_score(side, options.score)
    pairs = [(baseline, side) for side in sides if side is not baseline] if baseline is not None else []
    comparisons = options.comparisons or max(1, len(pairs))
    spreads = _spreads(pairs, options.score) if pairs else [(None, None, WORST_CASE)]
    return {
        "score": options.score,
        "power": options.power,
        "alpha": ALPHA,
        "comparisons": comparisons,
        "margin": options.margin,
        "pilots": [_pilot(*found, options, ALPHA / comparisons) for found in spreads],
        "incomplete": [note for side in sides if (note := incomplete_note(side))],
        "tokens_per_trial": {side.name: tokens_per_trial(side) for side in sides},
    }


def _spreads(pairs: Sequence[tuple[Side, Side]], score: str) -> Iterator[tuple[Side | None, Side | None, Spread]]:
    for baseline, candidate in pairs:
        found = paired_repeats(baseline, candidate, score)
        if len(found) < 2:
            raise DataError(
                f"{baseline.name} and {candidate.name} have {len(found)} common queries with {score}; "
                "a pilot needs at least two, and says little below ten"
            )
        yield baseline, candidate, difference_spread(list(found.values()))


def _check_score(side: Side, score: str) -> None:
    if score not in side.quality:
        known = ", ".join(sorted(side.quality))
        raise DataError(f"{side.source}: {side.name} has no score of quality {score!r}; it has {known}")


def paired_repeats(baseline: Side, candidate: Side, score: str) -> dict[QueryId, list[float]]:
    """The differences of a score, repeat by repeat, of each query."""
    ours, theirs = baseline.each(score), candidate.each(score)
    found: dict[QueryId, list[float]] = {}
    for key, value in ours.items():
        if key in theirs:
            found.setdefault(key[0], []).append(theirs[key] - value)
    return found


def tokens_per_trial(side: Side) -> float | None:
    """The mean number of tokens of a trial that ended with an answer; None where the model does not report them."""
    known = list(side.each(TOKENS).values())
    return fmean(known) if known else None


def _pilot(
    baseline: Side | None, candidate: Side | None, spread: Spread, options: QueryPlanOptions, alpha: float
) -> dict[str, Any]:
    known = spread if isinstance(spread, Pilot) else None
    return {
        "baseline": baseline.name if baseline else None,
        "candidate": candidate.name if candidate else None,
        "queries": spread.queries,
        "repeats": baseline.about.settings["repeat"] or 1 if baseline else None,
        "difference": fmean(map(fmean, known.differences)) if known else 0.0,
        "changed": spread.changed,
        "between": known.between if known else spread.changed,
        "within": known.within if known else 0.0,
        "smallest": [
            _smallest(spread, queries, repeats, options, alpha)
            for queries in options.queries
            for repeats in options.repeats
        ],
        "needed": [_needed(spread, repeats, options, alpha) for repeats in options.repeats],
    }


def _smallest(spread: Spread, queries: int, repeats: int, options: QueryPlanOptions, alpha: float) -> dict[str, Any]:
    """The smallest difference, and those that are as likely where the pilot is too small for a promise."""
    found = smallest_difference(spread, queries, repeats=repeats, power=options.power, alpha=alpha)
    row = {"queries": queries, "repeats": repeats, "difference": found, "low": None, "high": None, "promised": True}
    if found is None or is_promised(spread, repeats, found):
        return row
    low, high = (min(1.0, found * math.sqrt(scale)) for scale in variance_range(spread, repeats, found))
    return {**row, "low": low, "high": high, "promised": False}


def _needed(spread: Spread, repeats: int, options: QueryPlanOptions, alpha: float) -> dict[str, Any]:
    power, size, margin = options.power, options.difference, options.margin
    chances = power_range(spread, repeats, size, power=power, alpha=alpha)
    finding = queries_for(spread, size, repeats=repeats, power=power, alpha=alpha)
    showing = queries_for_equivalence(spread, margin, repeats=repeats, power=power)
    return {
        "repeats": repeats,
        "difference": size,
        "margin": margin,
        **_numbers("queries", finding, spread, repeats, size),
        **_numbers("queries_for_equivalence", showing, spread, repeats, 0.0),
        "power_low": chances[0],
        "power_high": chances[1],
        "pilot_queries": pilot_needed(spread, repeats, size),
    }


def _numbers(name: str, found: int | None, spread: Spread, repeats: int, difference: float) -> dict[str, Any]:
    """A number of queries; with the least and the most of them where the pilot is too small for a promise."""
    is_sure = is_promised(spread, repeats, difference)
    low = high = None
    if found is not None and not is_sure:
        least, most = variance_range(spread, repeats, difference)
        low, high = min(found, max(FEWEST, round(found * least))), round(found * most)
    return {name: found, f"{name}_low": low, f"{name}_high": high, f"{name}_promised": is_sure}


def plan_sides(values: Sequence[str], store: str | None, against: str | None) -> tuple[list[Side], Side | None]:
    """The sides of a pilot, and the one that the others are compared with; None where there are fewer than two.

    Args:
        values: runs, with a framework or without, or result documents.
        against: the baseline's framework; None for ``reference``, or the first.

    Raises:
        UsageError, DataError: a value or the framework cannot be found, or means several.
    """
    sides = unique_names([side for value in values for side in read_sides(value, store)])
    for one, other in combinations(sides, 2):
        if are_same_trials(one, other):
            raise UsageError(
                f"the pilot has the trials of {one.about.framework} in run {one.about.run_id} twice; name each run once"
            )
    if against is None and len(sides) < 2:
        return sides, None
    names = {side.name: side for side in sides}
    return sides, names[chosen_baseline(list(names), against)]
