"""Plans a verification: how many cases a verdict needs, before they are paid for."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialbed_verify.panel._bounds import LEAST_SHARE, Z, allowance
from trialbed_verify.panel._gates import GATES, with_margins

Array = NDArray[Any]

FEWEST = 30
"""Cases below which no verdict is given."""

POWER = 0.95

MOST = 10_000_000
"""Cases beyond which no plan is of use."""


def fewest_cases(margin: float) -> int:
    """Return the number of cases below which no gate can be shown to be within its margin, even if none differs."""
    return math.ceil(Z * Z / margin / LEAST_SHARE) + 1


def cases_for_equivalence(spread: float, margin: float, truth: float = 0.0, power: float = POWER) -> int:
    """Return the number of cases with which the upper bound lies below the margin with a chance of ``power``.

    Args:
        spread: standard deviation of a figure over cases.
        truth: its mean.
    """
    quantile = NormalDist().inv_cdf(power)

    def is_enough(n: int) -> bool:
        return truth + quantile * spread / math.sqrt(n) + allowance(spread, n) < margin

    return bisect_left(range(MOST), True, lo=1, key=is_enough)


def cases_for_difference(spread: float, margin: float, truth: float, power: float = POWER) -> int:
    """Return the number of cases with which the lower bound lies above the margin with a chance of ``power``."""
    if truth <= margin:
        return MOST
    return math.ceil(((Z + NormalDist().inv_cdf(power)) * spread / (truth - margin)) ** 2)


@lru_cache(maxsize=256)
def faithful_spread(flip_rate: float, baseline: int, vendor: int) -> tuple[float, float, float]:
    """Return the greatest standard deviations over cases of excess, distance and novelty, for a faithful vendor.

    The flip rate is the chance that two trials of a case decide differently, on average over cases. How it is spread
    over the cases is not known, so the worst way counts.

    Args:
        baseline, vendor: trials per case.
    """
    shares = np.linspace(0.0, 0.5, 201)
    flips = 2 * shares * (1 - shares)
    variances = np.array([_variances(float(share), baseline, vendor) for share in shares])
    worst = [_envelope(flips, column, min(flip_rate, 0.5)) for column in variances.T]
    excess, distance, novelty = map(math.sqrt, worst)
    return excess, distance, novelty


def _variances(share: float, m: int, n: int) -> tuple[float, float, float]:
    """Return the variances of the figures in a case in which each trial calls with a chance of ``share``."""
    ours, theirs = _binomial(share, m), _binomial(share, n)
    k, j = np.arange(m + 1)[:, None], np.arange(n + 1)[None, :]
    chances = ours[:, None] * theirs[None, :]
    cross = (k * (n - j) + (m - k) * j) / (m * n)
    own = 2 * k * (m - k) / (m * (m - 1)) if m > 1 else np.zeros_like(k, dtype=float)
    other = 2 * j * (n - j) / (n * (n - 1)) if n > 1 else np.zeros_like(j, dtype=float)
    excess = cross - (own if m > 1 else other)
    distance = cross - (own + other) / 2
    novelty = (j * _unseen(k, m) + (n - j) * _unseen(m - k, m)) / n - ((k == 1) * 1 + (m - k == 1)) / m
    figures = (excess, distance, novelty if m > 1 else excess)
    first, second, third = (float((chances * figure**2).sum()) for figure in figures)
    return first, second, third


def _unseen(count: Array, m: int) -> Array:
    """Return the chance that an answer that ``count`` of m trials give is not among all of them but one."""
    chance: Array = np.where(count == 0, 1.0, np.where(count == 1, 1 / m, 0.0))
    return chance


def _binomial(share: float, n: int) -> Array:
    return np.array([math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)])


def _envelope(places: Array, values: Array, at: float) -> float:
    """Return the least concave function above the values at a place: the greatest mean for a given mean place."""
    left, right = places <= at, places >= at
    x1, y1, x2, y2 = places[left][:, None], values[left][:, None], places[right], values[right]
    apart = np.where(x2 > x1, x2 - x1, 1.0)
    return float((y1 + (y2 - y1) * (at - x1) / apart).max())


@dataclass(frozen=True)
class PlanOptions:
    """The assumptions of a plan, known before a verification.

    Attributes:
        flip_rate: the chance that two trials of a case decide differently, on average over cases.
        baseline, vendor: trials per case.
        margins: gate -> its margin, where it is not the usual one.
        power: chance with which a vendor like the baseline is to be called equivalent.
        cases: cases that there are, if their number is given.
    """

    flip_rate: float = 0.1
    baseline: int = 5
    vendor: int = 5
    margins: Mapping[str, float] = field(default_factory=dict)
    power: float = 0.9
    cases: int | None = None


@dataclass(frozen=True)
class Plan:
    """The cases that a verification needs, or the difference that it can show.

    Attributes:
        cases: with which a vendor like the baseline is called equivalent; None if no number does.
        requests: of both sides together.
        found: the smallest share of answers that go wrong, anywhere, that is then called different.
    """

    options: PlanOptions
    cases: int | None
    requests: int | None
    found: float | None
    enough: bool | None

    def as_json(self) -> dict[str, Any]:
        """Return one JSON object."""
        return {
            "flip_rate": self.options.flip_rate,
            "trials": {"baseline": self.options.baseline, "vendor": self.options.vendor},
            "power": self.options.power,
            "cases": self.cases,
            "requests": self.requests,
            "found_share": self.found,
            "given_cases": self.options.cases,
            "enough": self.enough,
        }


def plan(options: PlanOptions) -> Plan:
    """Say how many cases a verdict of the panel needs, or what those that there are can show."""
    needed = _cases(options)
    used = options.cases or needed
    requests = None if used is None else used * (options.baseline + options.vendor)
    enough = None if options.cases is None else needed is not None and options.cases >= needed
    found = None if used is None or used < FEWEST else _found_share(used, options)
    return Plan(options, needed, requests, found, enough)


WHOLE = (
    "any",
    "bill",
    "prompt-tokens",
    "decision",
    "finish",
    "availability",
    "constraints",
    "protocol",
    "usage",
    "model",
    "text-leaks",
)
"""Gates that apply to every request; others are taken to apply to half of them."""


EXACT = ("prompt-tokens",)
"""Gates at which two answers of a faithful vendor never differ."""

TRIALS_LOST = 2.0
"""Further cases that those gates need, as a share per flip."""


def _cases(options: PlanOptions) -> int | None:
    if options.baseline < 2 or options.vendor < 2:
        return None
    # Several gates must pass together, of which those that depend on decisions pass and fail in part together.
    power = 1 - (1 - options.power) / 8
    excess, distance, novelty = faithful_spread(options.flip_rate, options.baseline, options.vendor)
    counts = [FEWEST]
    for gate in with_margins(GATES, options.margins):
        if gate.scale == "probabilities":
            continue  # Most endpoints give none, and their spread has nothing to do with flips.
        share = 1.0 if gate.name in WHOLE else LEAST_SHARE
        if gate.distance_margin is None:
            own = cases_for_equivalence(novelty if gate.scale == "novelty" else 0.0, gate.margin, power=power)
        elif gate.name in EXACT:
            own = cases_for_equivalence(0.0, gate.distance_margin, power=power)
        else:
            own = max(
                cases_for_equivalence(excess, gate.margin, power=1 - (1 - power) / 2),
                cases_for_equivalence(distance, gate.distance_margin, power=power),
            )
            if gate.name not in WHOLE:
                # Where decisions vary, some of a case's trials have no call, or no text, so that fewer show its spread.
                own = math.ceil(own * (1 + TRIALS_LOST * options.flip_rate))
        counts.append(math.ceil(own / share))
    return max(counts)


def _found_share(cases: int, options: PlanOptions) -> float | None:
    """Return the smallest share of the answers whose damage is found by the gate ``any``."""
    margin = next(gate.margin for gate in with_margins(GATES, options.margins) if gate.name == "any")
    _, _, novelty = faithful_spread(options.flip_rate, options.baseline, options.vendor)
    for share in np.arange(margin, 1.0, 0.001):
        spread = math.sqrt(novelty**2 + share * (1 - share))
        if cases_for_difference(spread, margin, float(share), options.power) <= cases:
            return float(share)
    return None
