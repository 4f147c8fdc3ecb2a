"""The plan of a comparison: the differences that a number of queries can show, by the spread of a pilot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from itertools import combinations
from statistics import fmean
from typing import Any

from trialbed.errors import DataError, UsageError
from trialbed.records import Prices, Usage
from trialbed.report.comparison import (
    ALPHA,
    CommonQueries,
    Meanwhile,
    Side,
    are_same_trials,
    incomplete_note,
    read_groups,
    run_pairs,
    unique_names,
)
from trialbed.settings import MARGIN
from trialbed.suggestions import closest, did_you_mean
from trialbed_evaluation.planning._helpers import PlannedHelper, planned_helpers
from trialbed_evaluation.planning._pilots import WORST_CASE, Pilot, pilot_of
from trialbed_evaluation.planning._power import (
    is_promised,
    pilot_needed,
    power_range,
    queries_for,
    queries_for_equivalence,
    smallest_difference,
    variance_range,
)

TOKENS = "total_tokens"
COST = "cost"
PRICED = ("prompt_tokens", "completion_tokens")
"""Scores that a price is for, in the order of the price's parts."""

EVERY = ""
"""Stands for each model that has no prices of its own."""

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
        prices: of the models that will be asked, by their names in the pilot, and at ``EVERY`` of all others; those
            that are missing are the pilot's.
    """

    score: str = "sopr_score"
    queries: Sequence[int] = (20, 60, 120, 300, 1000)
    repeats: Sequence[int] = (1,)
    difference: float = 0.1
    power: float = 0.8
    comparisons: int = 0
    margin: float = MARGIN
    prices: Mapping[str, Prices] = field(default_factory=dict)

    def prices_for(self, side: Side) -> Prices | None:
        """Return the prices at which the trials of a side are counted; None for those of the pilot."""
        return self.prices.get(_model_of(side), self.prices.get(EVERY))


@dataclass(frozen=True)
class SmallestDifference:
    """The smallest difference that a number of queries and repeats finds.

    Attributes:
        difference: None where none is found with the power.
        low, high: those that are as likely where the pilot is too small for a promise.
    """

    queries: int
    repeats: int
    difference: float | None
    low: float | None = None
    high: float | None = None
    promised: bool = True


@dataclass(frozen=True)
class NeededQueries:
    """The queries that a difference needs with a number of repeats, and equivalence where there is none.

    Attributes:
        queries, queries_for_equivalence: None where ten million are too few. Each has a range, ``low`` to ``high``,
            where the pilot is too small for a promise.
        power_low, power_high: the chances that nine of ten such plans have.
        pilot_queries: about how many queries a pilot needs for a promise; None where that is not known.
    """

    repeats: int
    difference: float
    margin: float
    queries: int | None
    queries_low: int | None
    queries_high: int | None
    queries_promised: bool
    queries_for_equivalence: int | None
    queries_for_equivalence_low: int | None
    queries_for_equivalence_high: int | None
    queries_for_equivalence_promised: bool
    power_low: float
    power_high: float
    pilot_queries: int | None


@dataclass(frozen=True)
class PairPlan:
    """The plan for one candidate against the baseline; without names where there is no pilot.

    Attributes:
        queries, repeats, difference, changed, between, within: of the pilot, as ``Pilot`` has them.
    """

    baseline: str | None
    candidate: str | None
    queries: int
    repeats: int | None
    difference: float
    changed: float | None
    between: float
    within: float
    smallest: tuple[SmallestDifference, ...]
    needed: tuple[NeededQueries, ...]


@dataclass(frozen=True)
class QueryPlan:
    """The plan of comparisons that are made together.

    Attributes:
        alpha: of the tests of all comparisons together.
        incomplete: the sides of the pilot that lack trials, in words.
        tokens_per_trial: by side; None where the model does not report them.
        cost_per_trial: by side, in US dollars; None where no price is known.
        helpers: the tokens that judges, selectors and simulators take beside that.
    """

    score: str
    power: float
    alpha: float
    comparisons: int
    margin: float
    pilots: tuple[PairPlan, ...]
    incomplete: tuple[str, ...]
    tokens_per_trial: dict[str, float | None]
    cost_per_trial: dict[str, float | None]
    helpers: tuple[PlannedHelper, ...] = ()

    def cost(self, queries: int, repeats: int) -> float | None:
        """Return about what a run of all sides of the pilot costs, in US dollars; None where that is not known.

        Helpers whose cost is not known are left out, and so are models of which no side has a known price.
        """
        sides = [cost for cost in self.cost_per_trial.values() if cost is not None]
        helpers = [one.cost * one.times(queries, repeats) for one in self.helpers if one.cost is not None]
        if not (sides or helpers) or 0 < len(sides) < len(self.cost_per_trial):
            return None
        return queries * repeats * sum(sides) + sum(helpers)

    def tokens(self, queries: int, repeats: int) -> float | None:
        """Return about how many tokens that run takes, as far as the pilot says; None where it says nothing."""
        sides = [tokens for tokens in self.tokens_per_trial.values() if tokens is not None]
        helpers = [one.tokens * one.times(queries, repeats) for one in self.helpers if one.tokens is not None]
        return queries * repeats * sum(sides) + sum(helpers) if sides or helpers else None

    def as_json(self) -> dict[str, Any]:
        """Return the plan as a JSON object."""
        return asdict(self)


def plan(sides: Sequence[Side], pairs: Sequence[tuple[Side, Side]], options: QueryPlanOptions) -> QueryPlan:
    """Plan a comparison.

    Args:
        sides: those of the pilot.
        pairs: baseline and candidate of each comparison; without any, the plan is for the worst case.

    Raises:
        DataError: the pilot has too few queries, or lacks the score.
        UsageError: there are prices of a model that the pilot does not have.
    """
    _check_prices(options.prices, sides)
    for side in sides:
        _check_score(side, options.score)
    comparisons = options.comparisons or max(1, len(pairs))
    pilots = _pilots(pairs, options.score) if pairs else [(None, None, WORST_CASE)]
    return QueryPlan(
        score=options.score,
        power=options.power,
        alpha=ALPHA,
        comparisons=comparisons,
        margin=options.margin,
        pilots=tuple(_pair_plan(*found, options, ALPHA / comparisons) for found in pilots),
        incomplete=tuple(note for side in sides if (note := incomplete_note(side))),
        tokens_per_trial={side.name: mean_per_trial(side, TOKENS) for side in sides},
        cost_per_trial={side.name: cost_per_trial(side, options.prices_for(side)) for side in sides},
        helpers=planned_helpers(sides, options.prices),
    )


def _pilots(pairs: Sequence[tuple[Side, Side]], score: str) -> Iterator[tuple[Side | None, Side | None, Pilot]]:
    for baseline, candidate in pairs:
        found = CommonQueries(baseline, candidate).repeat_differences(score)
        if found.total() < 2:
            raise DataError(
                f"{baseline.name} and {candidate.name} have {found.total()} common queries with {score}; "
                "a pilot needs at least two, and says little below ten"
            )
        yield baseline, candidate, pilot_of(found)


def _model_of(side: Side) -> str:
    return str(side.about.settings["model"])


def _check_prices(prices: Mapping[str, Prices], sides: Sequence[Side]) -> None:
    helpers = (use.model for side in sides for use in side.about.helpers.uses)
    known = dict.fromkeys([*map(_model_of, sides), *helpers])
    for name in prices:
        if name != EVERY and name not in known:
            raise UsageError(
                f"--price: the pilot has no model {name!r}{did_you_mean(closest(name, known))} "
                f"It has {', '.join(known) or 'none'}"
            )


def _check_score(side: Side, score: str) -> None:
    if score not in side.quality:
        known = ", ".join(sorted(side.quality))
        raise DataError(f"{side.source}: {side.name} has no score of quality {score!r}; it has {known}")


def mean_per_trial(side: Side, score: str) -> float | None:
    """Return the mean of what a trial without failure takes; None where that is not known."""
    known = side.trial_values(score)
    return fmean(known) if len(known) else None


def cost_per_trial(side: Side, prices: Prices | None) -> float | None:
    """Return the mean cost of a trial in US dollars: at other prices, of tokens none of which are cached."""
    if prices is None:
        return mean_per_trial(side, COST)
    asked, answered = (mean_per_trial(side, name) for name in PRICED)
    if asked is None or answered is None:
        return None
    return prices.cost(Usage(prompt_tokens=round(asked), completion_tokens=round(answered)))


def _pair_plan(
    baseline: Side | None, candidate: Side | None, pilot: Pilot, options: QueryPlanOptions, alpha: float
) -> PairPlan:
    smallest = [
        _smallest(pilot, queries, repeats, options, alpha) for queries in options.queries for repeats in options.repeats
    ]
    return PairPlan(
        baseline=baseline.name if baseline else None,
        candidate=candidate.name if candidate else None,
        queries=pilot.queries,
        repeats=baseline.about.settings["repeat"] or 1 if baseline else None,
        difference=pilot.difference,
        changed=pilot.changed,
        between=pilot.between,
        within=pilot.within,
        smallest=tuple(smallest),
        needed=tuple(_queries_needed(pilot, repeats, options, alpha) for repeats in options.repeats),
    )


def _smallest(pilot: Pilot, queries: int, repeats: int, options: QueryPlanOptions, alpha: float) -> SmallestDifference:
    found = smallest_difference(pilot, queries, repeats=repeats, power=options.power, alpha=alpha)
    if found is None or is_promised(pilot, repeats, found):
        return SmallestDifference(queries, repeats, found)
    low, high = (found * math.sqrt(scale) for scale in variance_range(pilot, repeats, found))
    return SmallestDifference(queries, repeats, found, min(found, low), min(1.0, max(found, high)), promised=False)


def _queries_needed(pilot: Pilot, repeats: int, options: QueryPlanOptions, alpha: float) -> NeededQueries:
    power, size, margin = options.power, options.difference, options.margin
    power_low, power_high = power_range(pilot, repeats, size, power=power, alpha=alpha)
    finding = queries_for(pilot, size, repeats=repeats, power=power, alpha=alpha)
    showing = queries_for_equivalence(pilot, margin, repeats=repeats, power=power)
    finding_low, finding_high = _range(finding, pilot, repeats, size)
    showing_low, showing_high = _range(showing, pilot, repeats, 0.0)
    return NeededQueries(
        repeats=repeats,
        difference=size,
        margin=margin,
        queries=finding,
        queries_low=finding_low,
        queries_high=finding_high,
        queries_promised=is_promised(pilot, repeats, size),
        queries_for_equivalence=showing,
        queries_for_equivalence_low=showing_low,
        queries_for_equivalence_high=showing_high,
        queries_for_equivalence_promised=is_promised(pilot, repeats, 0.0),
        power_low=power_low,
        power_high=power_high,
        pilot_queries=pilot_needed(pilot, repeats, size),
    )


def _range(found: int | None, pilot: Pilot, repeats: int, difference: float) -> tuple[int | None, int | None]:
    """Return the least and the most queries, where the pilot is too small for a promise."""
    if found is None or is_promised(pilot, repeats, difference):
        return None, None
    least, most = variance_range(pilot, repeats, difference)
    return min(found, max(FEWEST, round(found * least))), max(found, round(found * most))


def plan_sides(
    values: Sequence[str], store: str | None, against: str | None, meanwhile: Meanwhile = nullcontext
) -> tuple[list[Side], list[tuple[Side, Side]]]:
    """Return the sides of a pilot, and the pairs that a run of them would compare; none of fewer than two sides.

    Args:
        values: runs, with a framework or without, or result documents.
        against: the baseline's framework; None for ``reference``, or the first.
        meanwhile: as ``read_groups`` takes it.

    Raises:
        UsageError, DataError: a value or the framework cannot be found, or means several.
    """
    sides = unique_names([side for sides in read_groups(values, store, meanwhile) for side in sides])
    for one, other in combinations(sides, 2):
        if are_same_trials(one, other):
            raise UsageError(
                f"the pilot has the trials of {one.about.framework} in run {one.about.run_id} twice; name each run once"
            )
    if against is None and len(sides) < 2:
        return sides, []
    return sides, [(pair.baseline, pair.candidate) for pair in run_pairs(sides, against)]
