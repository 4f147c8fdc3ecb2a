"""How often the panel's verdict errs, and how often its intervals cover the truth, by simulation.

    python benchmarks/vendor_panel.py --runs 400

Vendors and baselines answer with known probabilities, at the numbers of cases of ``CASES``. Whether tools are
called, and which of two, both vary from trial to trial at the flip rate; the other gates see no difference.
Prints tables; docs/how-to/verify-vendors.md sums them up.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from trialbed.statistics import holm
from trialbed_verify.panel import GATES, Compared, PanelGate, compare_values, settle

Shares = NDArray[np.float64]
Vendor = Callable[[Shares, np.random.Generator], Shares]

CASES = {0.0: 362, 0.05: 788, 0.1: 1_210, 0.2: 2_238}
"""Flip rate -> cases that make a vendor like the baseline equivalent in 90 % of verifications."""

TRIALS = 5
DEALS = 599
OTHERS = 13
"""Gates that see no difference; p-values are corrected for them too."""

DECISION, TOOLS = (next(gate for gate in GATES if gate.name == name) for name in ("decision", "tools"))


def main() -> None:
    """Run all simulations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    print("| flips | cases | vendor | equivalent | different | inconclusive |")
    print("| ---: | ---: | --- | ---: | ---: | ---: |")
    for flips, cases in CASES.items():
        for name, (decide, choose) in VENDORS.items():
            found = Counter(verdict(flips, cases, seed, decide, choose) for seed in range(runs))
            shown = [f"{found[finding] / runs:.1%}" for finding in ("equivalent", "different", "inconclusive")]
            print(f"| {flips:g} | {cases:,} | {name} | {' | '.join(shown)} |", flush=True)
    print("\n| flips | cases | vendor | excess | distance |")
    print("| ---: | ---: | --- | ---: | ---: |")
    for flips, cases, name, row in coverages(5 * runs):
        print(f"| {flips:g} | {cases:,} | {name} | {row[0]:.1%} | {row[1]:.1%} |", flush=True)


def settled(flips: float, cases: int, random: np.random.Generator) -> Shares:
    """Return the chance of an answer per case; half of the flips come from coin tosses, half from all cases equally."""
    rare = (1 - (1 - flips) ** 0.5) / 2
    likely = np.where(random.random(cases) < 0.5, 1 - rare, rare)
    coins = random.random(cases) < (flips / 2) / (0.5 - flips / 2)
    return np.where(coins, 0.5, likely)


def as_baseline(shares: Shares, _random: np.random.Generator) -> Shares:
    """Return the same chances."""
    return shares


def greedy(shares: Shares, random: np.random.Generator) -> Shares:
    """Return the likelier answer, always; wrong in 7 % of the cases."""
    likely = np.where(shares == 0.5, random.random(len(shares)) < 0.5, shares > 0.5).astype(np.float64)
    return np.where(random.random(len(shares)) < 0.07, 1 - likely, likely)


def moved(by: float) -> Vendor:
    """Return a vendor with chances that differ by this much, up or down."""
    return lambda shares, random: np.where(shares >= 0.5, shares - by, shares + by)


def on_the_excess(shares: Shares, random: np.random.Generator) -> Shares:
    """Return an excess of just the margin."""
    return moved(DECISION.margin / float(np.abs(1 - 2 * shares).mean()))(shares, random)


def on_the_distance(shares: Shares, random: np.random.Generator) -> Shares:
    """Return chances at the margin's distance: some coins always fall on one side, or else some cases are wrong."""
    coins = shares == 0.5
    margin = DECISION.distance_margin or 0.0
    if not coins.any():
        return mixed(margin)(shares, random)
    chosen = coins & (random.random(len(shares)) < 4 * margin / coins.mean())
    return np.where(chosen, (random.random(len(shares)) < 0.5).astype(np.float64), shares)


def mixed(share: float) -> Vendor:
    """Return the other answer in a share of the cases."""
    return lambda shares, random: np.where(random.random(len(shares)) < share, 1 - shares, shares)


VENDORS: dict[str, tuple[Vendor, Vendor]] = {
    "like the baseline": (as_baseline, as_baseline),
    "on the margin of the excess": (on_the_excess, as_baseline),
    "on the margin of the distance": (on_the_distance, as_baseline),
    "greedy, wrong in 7 % of the cases": (greedy, as_baseline),
    "the wrong tool in 10 % of the calls": (as_baseline, moved(0.1)),
    "the wrong tool in 10 % of the cases": (as_baseline, mixed(0.1)),
}


def verdict(flips: float, cases: int, seed: int, decide: Vendor, choose: Vendor) -> str:
    """Return the verdict on one simulated vendor."""
    found = list(measured(flips, cases, seed, decide, choose, 1))
    p_values: dict[int, float] = dict.fromkeys(range(len(found)), 0.0)
    if "different" in findings(found, p_values, cases):
        # The p-values only matter if a bound lies beyond its margin, and they are most of the work.
        found = list(measured(flips, cases, seed, decide, choose, DEALS))
        p_values = holm({number: one.p for number, one in enumerate(found)} | {-n - 1: 1.0 for n in range(OTHERS)})
    settled_at = findings(found, p_values, cases)
    return next(name for name in ("different", "inconclusive", "equivalent") if name in settled_at)


def findings(found: list[Compared], p_values: dict[int, float], cases: int) -> set[str]:
    """Return the findings at each gate."""
    return {settle(one, p_values[number], cases).finding for number, one in enumerate(found)}


def measured(flips: float, cases: int, seed: int, decide: Vendor, choose: Vendor, deals: int) -> Iterator[Compared]:
    """Yield both gates of one simulated comparison."""
    random = np.random.default_rng([seed, round(1000 * flips)])
    called, decided = drawn(flips, cases, random, decide)
    tools, _ = drawn(flips, cases, random, choose)
    yield gate(DECISION, called, np.ones_like(decided), seed, deals)
    yield gate(TOOLS, tools, called == 1, seed, deals)


def drawn(flips: float, cases: int, random: np.random.Generator, vendor: Vendor) -> tuple[NDArray[np.int64], Shares]:
    """Return the trials of both sides, the baseline's first, of shape (cases, 2 * TRIALS)."""
    ours = settled(flips, cases, random)
    shares = np.repeat(np.stack([ours, vendor(ours, random)], axis=1), TRIALS, axis=1)
    return 1 + (random.random(shares.shape) < shares).astype(np.int64), shares


def gate(about: PanelGate, values: NDArray[np.int64], applies: NDArray[np.bool_], seed: int, deals: int) -> Compared:
    """Return a gate over the trials that it applies to."""
    cases = len(values)
    kept = applies.ravel().astype(bool)
    case = np.repeat(np.arange(cases), 2 * TRIALS)[kept]
    vendor = np.tile(np.arange(2 * TRIALS) >= TRIALS, cases)[kept]
    return compare_values(about, (values.reshape(-1, 1)[kept], case, vendor), cases, deals, seed)


def coverages(runs: int) -> Iterator[tuple[float, int, str, tuple[float, float]]]:
    """How often the 95 % intervals of the decision gate cover the truth, in all cases and in 40 % of them."""
    for flips, cases in list(CASES.items())[1:]:
        rows = (
            ("like the baseline", 0.0, cases),
            ("moved by 0.1", 0.1, cases),
            ("like the baseline", 0.0, cases * 2 // 5),
        )
        for name, by, judged in rows:
            covered = [covers(flips, judged, seed, moved(by), by) for seed in range(runs)]
            excess, distance = np.mean(covered, axis=0)
            yield flips, judged, name, (float(excess), float(distance))


@cache
def true_excess(flips: float, by: float) -> float:
    """Return the excess of a vendor with chances moved by this much, over very many cases."""
    random = np.random.default_rng(0)
    many = settled(flips, 4_000_000, random)
    return float(((moved(by)(many, random) - many) * (1 - 2 * many)).mean())


def covers(flips: float, cases: int, seed: int, vendor: Vendor, by: float) -> tuple[bool, bool]:
    """Whether the intervals of excess and distance have the true values."""
    random = np.random.default_rng([seed, 7, round(1000 * flips)])
    values, _ = drawn(flips, cases, random, vendor)
    case, side = np.repeat(np.arange(cases), 2 * TRIALS), np.tile(np.arange(2 * TRIALS) >= TRIALS, cases)
    found = compare_values(DECISION, (values.reshape(-1, 1), case, side), cases, 1, seed)
    excess = true_excess(flips, by)
    assert found.excess is not None
    assert found.distance is not None
    return found.excess.low <= excess <= found.excess.high, found.distance.low <= by**2 <= found.distance.high


if __name__ == "__main__":
    main()
