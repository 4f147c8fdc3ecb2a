"""The findings on simulated vendors, with enough cases for a verdict on a faithful one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
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
