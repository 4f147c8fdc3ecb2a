"""``bench plan-verify``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import FILE, FiniteRange, json_option, plain_option, print_json
from trialbed.texts import number_of

if TYPE_CHECKING:
    from trialbed_verify.panel import Plan

FLIP_RATES = (0.0, 0.05, 0.1, 0.2)

TRIALS = ((5, 5), (3, 3), (10, 5))

EPILOG = """\b
Examples:
  bench plan-verify
  bench plan-verify --flip-rate 0.1 --trials 5 --vendor-trials 5
  bench plan-verify --baseline official.jsonl --vendor-trials 5
  bench plan-verify --cases 1000 --gate-margin decision=0.03
"""

SHARE = FiniteRange(min=0, max=0.5)


@click.command("plan-verify", epilog=EPILOG)
@plain_option(
    "--flip-rate",
    "flip_rates",
    type=SHARE,
    multiple=True,
    help="Chance that two trials of a case decide differently; repeatable. [default: several]",
)
@plain_option(
    "--baseline",
    type=FILE,
    metavar="FILE",
    help="Results with several trials, which tell the flip rate.",
)
@plain_option("--trials", type=click.IntRange(min=1), help="Trials of the baseline per case. [default: several]")
@plain_option("--vendor-trials", type=click.IntRange(min=1), help="Trials of a vendor per case. [default: as --trials]")
@plain_option("--cases", type=click.IntRange(min=1), help="Cases that there are; says whether they are enough.")
@plain_option("--gate-margin", multiple=True, metavar="GATE=X", help="Margin of a gate of the panel; repeatable.")
@json_option
def command(*, as_json: bool, **given: Any) -> None:
    """Say how many cases and trials a verdict on a vendor needs, before money is spent.

    With these, a vendor that answers as the baseline does is called equivalent with a chance of 90 %, and
    different in at most 5 % of verifications. How the flips are spread over cases is not known, so the worst is taken.
    """
    from trialbed_verify.comparer import gate_margins
    from trialbed_verify.panel import PlanOptions, plan

    rates, source = _flip_rates(given)
    margins = gate_margins(given["gate_margin"])
    plans = [
        plan(PlanOptions(rate, ours, theirs, margins, cases=given["cases"]))
        for ours, theirs in _trials(given)
        for rate in rates
    ]
    if as_json:
        print_json({"plans": [found.as_json() for found in plans], "flip_rate_of": source})
    else:
        _print(plans, source)


def _flip_rates(given: Mapping[str, Any]) -> tuple[tuple[float, ...], str | None]:
    """The flip rates to plan for, and the file that they come from."""
    if given["baseline"] is None:
        return given["flip_rates"] or FLIP_RATES, None
    if given["flip_rates"]:
        raise click.UsageError("--baseline tells the flip rate; leave out --flip-rate")
    from trialbed_verify.comparison import flip_rate_of, read_one
    from trialbed_verify.vendor_rows import FileRows

    found = flip_rate_of(read_one(FileRows(given["baseline"])))
    if found is None:
        raise click.UsageError(
            f"{given['baseline']} has one trial per case, which tells no flip rate; repeat it with bench verify "
            "--trials 5, or give --flip-rate"
        )
    return (found,), str(given["baseline"])


def _trials(given: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    if given["trials"] is None and given["vendor_trials"] is None:
        yield from TRIALS
    else:
        ours = given["trials"] or 5
        yield ours, given["vendor_trials"] or ours


def _print(plans: Sequence[Plan], source: str | None) -> None:
    from trialbed.views import Table, print_tables

    columns = ["flip rate", "baseline", "vendor", "cases", "requests", "different from"]
    given = plans[0].options.cases
    title = "Cases for a verdict" if given is None else f"What {given:,} cases can show"
    if given is not None:
        columns.insert(4, "enough")
    print_tables([Table.of(title, columns, map(_row, plans), _notes(plans, source))], sys.stdout)


def _row(plan: Plan) -> list[str]:
    enough = [] if plan.enough is None else ["yes" if plan.enough else "no"]
    return [
        f"{plan.options.flip_rate:.3g}",
        number_of(plan.options.baseline, "trial"),
        number_of(plan.options.vendor, "trial"),
        "none" if plan.cases is None else f"{plan.cases:,}",
        *enough,
        "-" if plan.requests is None else f"{plan.requests:,}",
        "-" if plan.found is None else f"{100 * plan.found:.1f} %",
    ]


def _notes(plans: Sequence[Plan], source: str | None) -> Iterator[str]:
    from trialbed_verify.panel import FEWEST

    power, given = plans[0].options.power, plans[0].options.cases
    yield (
        f"cases: with this many, a vendor like the baseline is called equivalent with a chance of {100 * power:.0f} %, "
        "and different in at most 5 % of verifications."
    )
    yield (
        "different from: a vendor that damages this share of all answers, in whatever way breaks a caller, is called "
        f"different with a chance of {100 * power:.0f} %."
    )
    if given is not None and given < FEWEST:
        yield f"With fewer than {FEWEST} cases there is no verdict, whatever the vendor does."
    yield "requests: of baseline and vendor together; each further vendor takes its own trials."
    if any(plan.cases is None for plan in plans):
        yield "none: with one trial on a side its own spread is unknown, so no number of cases shows equivalence."
    if source is not None:
        yield f"The flip rate is that of {source}."
