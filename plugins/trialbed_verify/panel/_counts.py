"""Compares the tokens that both sides count and bill for the same requests.

The prompt tokens of a request are a number, not a distribution: a vendor that serves the same model with the same chat
template counts as many as the baseline, one with another template a constant more or less, and a vendor whose counts
are a multiple of the baseline's charges more for the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from trialbed_verify.panel._measures import OUTPUT_PRICE, Measures
from trialbed_verify.panel._samples import Trials

USUAL = 0.5
"""Share of the cases in which the counts must differ by one number, for that number to be a template's."""

STEADY = 0.01
"""Half of the ratios of counts lie closer together than this, where they are one factor and the rounding of it."""


@dataclass(frozen=True)
class PromptTokens:
    """How the vendor's prompt tokens differ from the baseline's.

    Attributes:
        offset: the constant by which most of the vendor's counts differ.
        share: of the cases, in which they differ by it.
        factor: the median of the ratios, where there is no such constant.
        steady: whether the ratios are one factor.
    """

    offset: int = 0
    share: float = 1.0
    factor: float = 1.0
    steady: bool = False

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return a sentence if the counts differ."""
        if self.offset:
            more = f"{abs(self.offset):,} {'more' if self.offset > 0 else 'fewer'}"
            return (
                f"the vendor counts {more} prompt tokens than the baseline in {100 * self.share:.0f} % of the requests"
                ", whatever their length: another chat template, or a system prompt of its own",
            )
        if self.share >= USUAL:
            return ()
        if self.steady:
            return (
                f"the vendor counts {self.factor:.3f} times the baseline's prompt tokens for the same requests: a "
                "factor on the bill, which no chat template explains",
            )
        return (
            "the vendor counts other prompt tokens than the baseline for the same requests, neither a constant more "
            f"nor a multiple; the median is {self.factor:.3f} times as many",
        )


def with_settled_counts(sides: Sequence[Trials]) -> tuple[list[Trials], PromptTokens]:
    """Return the trials with the vendor's prompt tokens less a constant that a template adds, and costs as shares.

    The cost of an answer becomes a share of the baseline's mean cost, over the cases in which both sides have one.
    """
    found = _prompt_tokens(sides)
    whole = _mean_cost(sides)
    return [
        ([_settle(one, 0, whole) for one in ours], [_settle(one, found.offset, whole) for one in theirs])
        for ours, theirs in sides
    ], found


def price_ratio(sides: Sequence[Trials], prices: Sequence[Mapping[str, float]]) -> float | None:
    """Return the vendor's price of an answer as a share of the baseline's; None if prices or tokens are not known.

    Args:
        prices: of the baseline and of the vendor: ``input`` and ``output``, per million tokens.
    """
    if not all(prices):
        return None
    means = np.array([list(map(_price, pair, prices)) for pair in sides]).reshape(-1, 2)
    baseline, vendor = means[np.isfinite(means).all(axis=1)].sum(axis=0).tolist()
    return vendor / baseline if baseline else None


def _price(trials: Sequence[Measures], prices: Mapping[str, float]) -> float:
    asked, answered = (prices.get(name, 0.0) for name in ("input", "output"))
    known = [one for one in trials if one.cost == one.cost]
    costs = [asked * one.prompt + answered * (one.cost - one.prompt) / OUTPUT_PRICE for one in known]
    return sum(costs) / len(costs) if costs else math.nan


def _settle(trial: Measures, offset: int, whole: float) -> Measures:
    # A count of 0 stands for one that is not known.
    prompt = (trial.prompt - offset or -1) if trial.prompt else 0
    return replace(trial, prompt=prompt, cost=trial.cost / whole)


def _prompt_tokens(sides: Sequence[Trials]) -> PromptTokens:
    counts = [(usual, other) for ours, theirs in sides if (usual := _usual(ours)) and (other := _usual(theirs))]
    if not counts:
        return PromptTokens()
    ((offset, cases),) = Counter(other - usual for usual, other in counts).most_common(1)
    share = cases / len(counts)
    ratios = [other / usual for usual, other in counts]
    low, high = np.quantile(ratios, (0.25, 0.75))
    if share >= USUAL:
        return PromptTokens(offset, share, median(ratios))
    return PromptTokens(0, share, median(ratios), steady=float(high - low) < STEADY)


def _usual(trials: Sequence[Measures]) -> int:
    """Return the count that most trials have; 0 if none has one."""
    counts = Counter(trial.prompt for trial in trials if trial.prompt)
    return max(counts, key=lambda count: (counts[count], count)) if counts else 0


def _mean_cost(sides: Sequence[Trials]) -> float:
    means = []
    for ours, theirs in sides:
        own, other = ([trial.cost for trial in side if trial.cost == trial.cost] for side in (ours, theirs))
        if own and other:
            means.append(sum(own) / len(own))
    return float(np.mean(means)) if means and sum(means) > 0 else 1.0
