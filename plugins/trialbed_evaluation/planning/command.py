"""``bench plan``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click

from trialbed.cli.completion import completes, runs, scores, stored_frameworks
from trialbed.cli.options import FiniteRange, json_option, plain_option
from trialbed.cli.stored import print_json, store_option

QUERIES = (20, 60, 120, 300, 1000)

EPILOG = """\b
Examples:
  bench plan
  bench plan latest --difference 0.05
  bench plan latest --against langgraph --queries 60 --queries 200 --repeat 1 --repeat 3
  bench plan 20261121T231039-52d790/langgraph 20261122T090211-0c4b1e/langgraph --json
"""

SHARE = FiniteRange(min=0, min_open=True, max=1, max_open=True)


@click.command("plan", epilog=EPILOG)
@click.argument("pilot", nargs=-1, shell_complete=completes(runs))
@plain_option(
    "--score",
    default="sopr_score",
    show_default=True,
    metavar="NAME",
    help="Score of quality to compare.",
    shell_complete=completes(scores),
)
@plain_option(
    "--queries", type=click.IntRange(min=1), multiple=True, help="Number of queries; repeatable. [default: several]"
)
@plain_option(
    "--repeat",
    "repeats",
    type=click.IntRange(min=1),
    multiple=True,
    help="Number of repeats; repeatable. [default: 1, and 3 where the pilot has repeats]",
)
@plain_option("--difference", type=SHARE, default=0.1, show_default=True, help="Difference to be found.")
@plain_option("--margin", type=SHARE, default=0.05, show_default=True, help="Difference that does not matter.")
@plain_option("--power", type=SHARE, default=0.8, show_default=True, help="Chance with which it is to be found.")
@plain_option(
    "--comparisons",
    type=click.IntRange(min=1),
    help="Number of comparisons that are made together. [default: as many as in the pilot]",
)
@plain_option(
    "--against",
    metavar="NAME",
    help="Framework of the pilot that others are compared with.",
    shell_complete=completes(stored_frameworks),
)
@store_option
@json_option
def command(
    pilot: tuple[str, ...],
    score: str,
    queries: tuple[int, ...],
    repeats: tuple[int, ...],
    difference: float,
    margin: float,
    power: float,
    comparisons: int | None,
    against: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Say how many queries a difference needs, before money is spent.

    PILOT is a small run of the frameworks that are to be compared: its id, latest, RUN/FRAMEWORK or a result document.
    How much its queries and repeats differ tells how small a difference more of them can show. Without a pilot, the
    worst case is taken, in which every query is won or lost as a whole; most runs need far fewer queries.
    """
    from trialbed_evaluation.planning import QueryPlanOptions, plan, plan_sides

    sides, baseline = plan_sides(pilot, store, against)
    # Only a pilot with repeats shows their gain.
    usual = (1, 3) if baseline and all((side.about.settings["repeat"] or 1) > 1 for side in sides) else (1,)
    options = QueryPlanOptions(
        score=score,
        queries=tuple(sorted(set(queries or QUERIES))),
        repeats=tuple(sorted(set(repeats or usual))),
        difference=difference,
        power=power,
        comparisons=comparisons or 0,
        margin=margin,
    )
    found = plan(sides, baseline, options)
    if as_json:
        print_json(found)
    else:
        _print(found)


def _print(document: Mapping[str, Any]) -> None:
    from trialbed.views import Table, print_tables

    tables = [
        Table.of(_title(pilot, document), _columns(pilot), _rows(pilot), _notes(pilot, document))
        for pilot in document["pilots"]
    ]
    print_tables([*tables, Table("", notes=list(_last_notes(document)))], sys.stdout)


def _title(pilot: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    shown = f"smallest difference of {document['score']} that is found with a chance of {document['power']:.0%}"
    if pilot["baseline"] is None:
        return f"{shown}, in the worst case"
    return f"{shown}: {pilot['candidate']} against {pilot['baseline']}, by a pilot of {pilot['queries']} queries"


def _columns(pilot: Mapping[str, Any]) -> list[str]:
    repeats = dict.fromkeys(found["repeats"] for found in pilot["smallest"])
    return ["queries", *(_counted(number, "repeat") for number in repeats)]


def _rows(pilot: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for queries in dict.fromkeys(found["queries"] for found in pilot["smallest"]):
        yield f"{queries:,}", *(_smallest(found) for found in pilot["smallest"] if found["queries"] == queries)


def _smallest(found: Mapping[str, Any]) -> str:
    if found["difference"] is None:
        return "none"
    return f"{found['difference']:.3f}" if found["promised"] else f"{found['low']:.3f} to {found['high']:.3f}"


def _notes(pilot: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    for found in pilot["needed"]:
        repeats = _counted(found["repeats"], "repeat")
        yield (
            f"With {repeats}: {_needed(found, 'queries')} find a difference of {found['difference']:g}; "
            f"{_needed(found, 'queries_for_equivalence')} show that there is none as large as {found['margin']:g}, "
            "if there is none."
        )
        yield from _cost(found, document["tokens_per_trial"])
    if pilot["baseline"] is None:
        yield "Name a run of two frameworks as a pilot to see what their differences need; most need far fewer queries."
        return
    yield from _doubts(pilot, document["power"])
    if pilot["repeats"] > 1 and not pilot["within"] and pilot["between"]:
        yield "No query's difference changed from one repeat of the pilot to the next, so repeats gain nothing."


def _doubts(pilot: Mapping[str, Any], power: float) -> Iterator[str]:
    """Say how far the numbers can be trusted."""
    for found in pilot["needed"]:
        repeats = _counted(found["repeats"], "repeat")
        if found["queries_promised"]:
            yield (
                f"With {repeats}, the chance of {power:.0%} is the mean over pilots like this one: nine of ten plan a "
                f"comparison with a chance of {found['power_low']:.0%} to {found['power_high']:.0%}. Queries are taken "
                f"to vary as in the pilot, whose difference is {pilot['difference']:.3f}."
            )
        elif pilot["repeats"] == 1 < found["repeats"]:
            yield (
                f"With {repeats}: ranges, because a pilot without repeats does not show how much repeats gain. Run it "
                "with --repeat 3."
            )
        elif found["pilot_queries"] is None:
            yield (
                f"With {repeats}: ranges, because no query differed in the pilot, and it is open how many will. Run "
                "one with more queries."
            )
        else:
            yield (
                f"With {repeats}: 90% ranges, because a pilot of {pilot['queries']} queries does not show the spread "
                f"well enough. One of about {found['pilot_queries']:,} queries would."
            )


def _cost(found: Mapping[str, Any], tokens: Mapping[str, float | None]) -> Iterator[str]:
    """The tokens of the trials that are needed, where the pilot says how many a trial takes."""
    known = [value for value in tokens.values() if value is not None]
    if found["queries"] is not None and known:
        each = sum(known) * found["repeats"]
        numbers = [found["queries"]] if found["queries_promised"] else [found["queries_low"], found["queries_high"]]
        total = " to ".join(f"{each * number:,.0f}" for number in numbers)
        yield f"  {_needed(found, 'queries')} with {_counted(found['repeats'], 'repeat')}: about {total} tokens."


def _last_notes(document: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"INCOMPLETE: {note}." for note in document["incomplete"])
    yield (
        f"Two-sided tests at {document['alpha']:g}, "
        f"adjusted for {_counted(document['comparisons'], 'comparison')}, like the verdicts of bench run and compare."
    )
    tokens = {name: value for name, value in document["tokens_per_trial"].items() if value is not None}
    if tokens:
        each = ", ".join(f"{name} {value:,.0f}" for name, value in tokens.items())
        yield f"Tokens per trial in the pilot: {each}."


def _needed(found: Mapping[str, Any], name: str) -> str:
    if found[name] is None:
        return "more than ten million queries"
    if found[f"{name}_promised"]:
        return f"{found[name]:,} queries"
    return f"{found[f'{name}_low']:,} to {found[f'{name}_high']:,} queries"


def _counted(count: int, name: str, several: str = "") -> str:
    return f"1 {name}" if count == 1 else f"{count:,} {several or name + 's'}"
