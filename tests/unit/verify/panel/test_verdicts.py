"""The findings on simulated vendors, with enough cases for a verdict on a faithful one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from support.cases import for_each

from trialbed_verify.panel import GATES, Compared, compare_values, settle

Shares = NDArray[np.float64]
DECISION, SCHEMA = (next(gate for gate in GATES if gate.name == name) for name in ("decision", "schema"))
RUNS = 40
CASES = {0.0: 362, 0.05: 788, 0.1: 1_210, 0.2: 2_238}
"""Flip rate -> cases with which a vendor like the baseline is called equivalent nine times in ten."""


def baseline(flips: float, cases: int, random: np.random.Generator) -> Shares:
    """The chance of a call per case: some are like tossing a coin, the others settled."""
    settled = (random.random(cases) < 0.5).astype(np.float64)
    return np.where(random.random(cases) < 2 * flips, 0.5, settled)


def greedy(shares: Shares, random: np.random.Generator) -> Shares:
    """The likelier decision, always."""
    return np.where(shares == 0.5, random.random(len(shares)) < 0.5, shares).astype(np.float64)


def leaning(shares: Shares, random: np.random.Generator) -> Shares:
    """As far off as the margin of the distance, where the baseline tosses a coin; both agree as often as before."""
    unsettled = shares == 0.5
    return np.where(unsettled, 0.5 + (DISTANCE_MARGIN / unsettled.mean()) ** 0.5, shares)


DISTANCE_MARGIN = 0.01


def compared(
    flips: float, cases: int, seed: int, vendor: Callable[..., Shares] | None = None, deals: int = 99
) -> Compared:
    random = np.random.default_rng(seed)
    ours = baseline(flips, cases, random)
    theirs = ours if vendor is None else vendor(ours, random)
    called = [random.random((cases, 5)) < shares[:, None] for shares in (ours, theirs)]
    values = np.concatenate(called, axis=1).astype(np.int64).reshape(-1, 1)
    case, side = np.repeat(np.arange(cases), 10), np.tile(np.arange(10) >= 5, cases)
    return compare_values(DECISION, (values, case, side), cases, deals, seed)


def findings(flips: float, vendor: Callable[..., Shares] | None = None) -> list[str]:
    found = [compared(flips, CASES[flips], seed, vendor) for seed in range(RUNS)]
    return [settle(one, one.p, CASES[flips]).finding for one in found]


@for_each("flips", [0.0, 0.05, 0.2])
def test_a_faithful_vendor_is_equivalent(flips: float) -> None:
    found = findings(flips)
    assert found.count("different") <= 0.05 * RUNS
    assert found.count("equivalent") >= 0.9 * RUNS


def test_a_greedy_vendor_is_different() -> None:
    assert findings(0.1, greedy).count("different") >= 0.95 * RUNS


def test_a_vendor_as_far_off_as_the_margin_of_the_distance_is_hardly_called_equivalent() -> None:
    assert findings(0.2, leaning).count("equivalent") <= 0.05 * RUNS + 4


def test_intervals_cover_the_truth() -> None:
    found = [compared(0.2, 600, seed, deals=1) for seed in range(200)]
    covered = [one.distance.low <= 0 <= one.distance.high for one in found if one.distance is not None]
    assert 0.87 <= np.mean(covered) <= 0.95


@for_each("cases", [1, 5, 120])
def test_where_no_case_differs_the_interval_allows_for_those_that_were_not_seen(cases: int) -> None:
    sides = np.repeat(np.arange(cases), 2), np.tile([False, True], cases)
    found = compare_values(SCHEMA, (np.zeros((2 * cases, 1)), *sides), cases, 1, 0).excess
    assert found is not None
    assert found.value == 0.0
    assert found.high == -found.low == pytest.approx(min(1.0, 2.706 / cases), rel=0.01)
