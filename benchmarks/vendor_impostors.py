"""The panel's verdicts on played vendors with known damage, and on the same model.

    python benchmarks/vendor_impostors.py --cases 1500 --trials 5
    python benchmarks/vendor_impostors.py --cases 1500 --trials 5 --same 400

Prints, for each vendor, the share of its answers that are damaged, what it bills, and the verdict with the gates that
differ; docs/how-to/verify-vendors.md sums it up. With ``--same``, how often the same model is called what; its
answers are drawn for each comparison from a hundred of each case.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
from vendors.answers import answers, finish
from vendors.catalogue import FURTHER, GOOD, REPORTED, faithful
from vendors.faults import Fault

from trialbed_verify.panel import Measures, Panel, PanelOptions, judge, measure
from trialbed_verify.rows import FileRows

Sides = dict[int, list[Measures]]

OUTPUT_PRICE = 4.0
"""Of a completion token, in prompt tokens."""

BREAKING, DEARER = 0.03, 0.02
"""The damage that must keep a vendor from being called equivalent."""

POOL = 100
"""The number of answers of each case to draw the same model's answers from."""


def main() -> None:
    """Run the simulation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1500)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--same", type=int, default=0)
    chosen = parser.parse_args()
    if chosen.same:
        _same(chosen.same, chosen.cases, chosen.trials)
        return
    baseline, _, usual = played(chosen.cases, chosen.trials, 1, faithful)
    print("| vendor | damaged answers | bill | verdict | gates that differ |")
    print("| --- | ---: | ---: | --- | --- |")
    for number, (name, fault) in enumerate({**GOOD, **REPORTED, **FURTHER}.items()):
        for draw in range(chosen.draws):
            vendor, damaged, cost = played(chosen.cases, chosen.trials, 1000 * (draw + 1) + number, fault)
            found = judged(baseline, vendor, draw)
            dearer = cost / usual - 1
            wrong = (damaged >= BREAKING or dearer >= DEARER) and found.finding == "equivalent"
            gates = ", ".join(one.gate.name for one in found.found("different")) or "none"
            verdict = f"**{found.finding}**" if wrong else found.finding
            print(f"| {name} | {damaged:.1%} | {dearer:+.1%} | {verdict} | {gates} |", flush=True)


def _same(runs: int, cases: int, trials: int) -> None:
    counted, small = Counter[str](), 0
    pool, _, _ = played(cases, max(POOL, 4 * trials), 1, faithful)
    for run in range(runs):
        found = judged(*draw_sides(pool, trials, run), run)
        counted[found.finding] += 1
        small += found.whole is not None and found.whole <= 0.05
    shares = ", ".join(f"{finding} {count / runs:.1%}" for finding, count in counted.most_common())
    print(
        f"the same model, {runs} comparisons of {cases} cases with {trials} trials: {shares}; p_whole <= 0.05: {small}"
    )


def draw_sides(pool: Sides, trials: int, seed: int) -> tuple[Sides, Sides]:
    """Return answers of a baseline and of the same model as a vendor, drawn from a pool without replacement."""
    random = np.random.default_rng([seed, 17])
    sides: tuple[Sides, Sides] = ({}, {})
    for case, made in pool.items():
        chosen = random.permutation(len(made))[: 2 * trials]
        for side, places in zip(sides, (chosen[:trials], chosen[trials:]), strict=True):
            side[case] = [made[place] for place in places]
    return sides


def played(cases: int, trials: int, seed: int, fault: Fault) -> tuple[Sides, float, float]:
    """Return the measures of a vendor's answers by case, the share of them that are damaged, and their cost."""
    random = np.random.default_rng([seed, 9])
    sides: Sides = {}
    damaged, costs = 0, list[float]()
    for case, _, one in answers(cases, trials, seed):
        damaged += fault(case, one, random)
        ended = finish(case, one)
        sides.setdefault(case.number, []).append(measure(ended, FileRows(Path("played.jsonl")), 0))
        if ended["response"]:
            usage = ended["response"]["usage"]
            costs.append(usage["prompt_tokens"] + OUTPUT_PRICE * usage["completion_tokens"])
    return sides, damaged / len(costs), sum(costs) / len(costs)


def judged(baseline: Sides, vendor: Sides, seed: int) -> Panel:
    """Return the panel's verdict."""
    return judge([(own, vendor[case]) for case, own in baseline.items()], PanelOptions(seed=seed))


if __name__ == "__main__":
    main()
