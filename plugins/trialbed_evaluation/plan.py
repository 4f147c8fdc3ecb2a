"""The command ``bench plan`` estimates the power of a larger comparison by resampling a pilot."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import json_option, print_json
from trialbed.cli.stored import store_option
from trialbed.errors import DataError, UsageError
from trialbed.texts import number_of

if TYPE_CHECKING:
    from trialbed.report.comparison import ScoreFinding

SIZES = (10, 20, 50, 100, 200, 500, 1_000)

CASES = (50, 100, 200, 500, 1_000, 2_000, 5_000)
"""Numbers of cases for vendors; their verdicts need more cases than tasks."""

POWER = 0.8
"""A number of cases is enough if this share of resamples has a verdict."""

UNDECIDED = {"too few", "inconclusive"}

EPILOG = """\b
Examples:
  bench plan latest
  bench plan 20261121T231039-52d790/langgraph 20261122T090211-0c4b1e/langgraph --json
  bench plan official.jsonl vendor.jsonl
"""


@dataclass(frozen=True)
class Plan:
    """The power of one comparison.

    Attributes:
        score: None for a vendor's verdict, which is on all gates together.
        pilot: the number of tasks or cases that both sides have in the pilot.
        enough: about how many are enough for a verdict; None if none of those tried is.
        shares: number of tasks or cases -> verdict -> its share of the resamples.
    """

    baseline: str
    candidate: str
    score: str | None
    pilot: int
    enough: int | None
    shares: Mapping[int, Mapping[Any, float]]

    def power(self, size: int) -> float:
        """Return the share of resamples that end in a verdict."""
        return sum(share for verdict, share in self.shares[size].items() if verdict not in UNDECIDED)

    @property
    def advice(self) -> str:
        """The number that is enough, with the likeliest verdict there."""
        if self.enough is None:
            return "none"
        size = next((size for size in self.shares if size >= (self.enough or 0)), max(self.shares))
        shares = {verdict: share for verdict, share in self.shares[size].items() if verdict not in UNDECIDED}
        return f"{self.enough:,} ({max(shares, key=lambda verdict: shares[verdict])})"


@click.command("plan", epilog=EPILOG)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@store_option
@json_option
def command(runs: tuple[str, ...], *, store: str | None, as_json: bool) -> None:
    """Estimate how many tasks or cases you need for a verdict, from a pilot.

    RUN is a small run of several setups, or a verification of several vendors: its id, latest, RUN/SETUP, a result
    document or a results file. Name several to compare the others with the first. Tasks (for vendors, cases) are drawn
    from the pilot with replacement, and each draw gets the verdict that bench run, compare and verify give.
    """
    from trialbed_evaluation.run_comparer import RunComparer
    from trialbed_verify.comparer import VendorComparer

    of_vendors = not RunComparer().recognises(runs[0]) and VendorComparer().recognises(runs[0])
    plans = list(_vendor_plans(runs, store) if of_vendors else _setup_plans(runs, store))
    unit = "case" if of_vendors else "task"
    if as_json:
        print_json({"unit": unit, "target": POWER, "plans": [_as_json(one) for one in plans]})
    else:
        _print(plans, unit)


def read_findings(values: Sequence[str], store: str | None) -> list[ScoreFinding]:
    """Return the pilot's findings on each setup and the baseline, for every score with a verdict.

    Raises:
        UsageError: there are not two different setups.
    """
    from trialbed.cli.stored import names_reading
    from trialbed.report.comparison import are_same_trials, paired_findings, read_groups, run_pairs, unique_names

    with names_reading():
        sides = unique_names([side for own in read_groups(values, store) for side in own])
    for one, other in combinations(sides, 2):
        if are_same_trials(one, other):
            raise UsageError(f"the pilot has the trials of {one.name} twice; name each run once")
    if len(sides) < 2:
        raise UsageError(
            f"{values[0]} has one setup, and a plan compares two: name another run too, or make a pilot of several "
            "such as bench run -f reference -f langgraph --limit 30"
        )
    pairs = [(baseline, candidate) for baseline, candidate, _ in run_pairs(sides, sides[0].against)]
    return [finding for own in paired_findings(pairs, sides[0].margin) for finding in own.values()]


def _setup_plans(values: Sequence[str], store: str | None) -> Iterator[Plan]:
    findings = read_findings(values, store)
    if not any(found.n >= 2 for found in findings):
        raise DataError(
            "the setups have fewer than two tasks with a score in common; run both on the same tasks, 30 or more"
        )
    for found in findings:
        margin, comparisons = found.margin, found.comparisons
        shares = {size: found.pilot.verdicts(size, margin, comparisons=comparisons) for size in SIZES}
        enough = found.enough or found.pilot.enough(margin, comparisons=comparisons)
        queries = enough.queries if enough else None
        yield Plan(found.baseline, found.candidate, found.score, found.n, queries, shares)


def _vendor_plans(values: Sequence[str], store: str | None) -> Iterator[Plan]:
    from trialbed_verify.compare import verdict_shares
    from trialbed_verify.stored import named_rows
    from trialbed_verify.table import read_one

    baseline, *vendors = map(read_one, named_rows(values, store))
    if not vendors:
        raise UsageError(f"{values[0]} has one vendor, and a plan compares two: name another verification or file too")
    for vendor in vendors:
        cases, shares = verdict_shares(baseline, vendor, CASES)
        found = Plan(str(baseline.vendor), str(vendor.vendor), None, cases, None, shares)
        enough = next((size for size in shares if found.power(size) >= POWER), None)
        yield Plan(found.baseline, found.candidate, None, cases, enough, shares)


def _as_json(plan: Plan) -> dict[str, Any]:
    about = {name: value for name, value in vars(plan).items() if name != "shares"}
    power = [{"n": size, "power": plan.power(size), "verdicts": dict(own)} for size, own in plan.shares.items()]
    return {**about, "power": power}


def _print(plans: Sequence[Plan], unit: str) -> None:
    from trialbed.records import score_title
    from trialbed.views import Table, print_tables

    tables = []
    for baseline in dict.fromkeys(plan.baseline for plan in plans):
        own = [plan for plan in plans if plan.baseline == baseline]
        names = [f"{plan.candidate}, {score_title(plan.score)}" if plan.score else plan.candidate for plan in own]
        rows = [
            (name, *(f"{100 * plan.power(size):.0f}" for size in plan.shares), plan.advice)
            for name, plan in zip(names, own, strict=True)
        ]
        title = (
            f"Verdicts against {baseline}, in % of draws of so many {unit}s (pilot: {number_of(own[0].pilot, unit)})"
        )
        notes = [f"enough: about this many {unit}s have a verdict with a chance of {POWER:.0%}."]
        if any(plan.enough is None for plan in own):
            notes.append("none: none of the numbers tried has; make a larger pilot, or choose a larger margin.")
        tables.append(Table.of(title, ["", *(f"{size:,}" for size in own[0].shares), "enough"], rows, notes))
    print_tables(tables, sys.stdout)
