"""``bench plan``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from trialbed.cli.completion import completes, runs, scores, stored_frameworks
from trialbed.cli.options import FiniteRange, json_option, plain_option, print_json
from trialbed.cli.setting_options import setting_option
from trialbed.cli.stored import store_option
from trialbed.texts import number_of

if TYPE_CHECKING:
    from trialbed_evaluation.planning import NeededQueries, PairPlan, PlannedHelper, QueryPlan, SmallestDifference

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
    default="solved",
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
@setting_option("price")
@store_option
@json_option
def command(
    pilot: tuple[str, ...],
    score: str,
    queries: tuple[int, ...],
    repeats: tuple[int, ...],
    difference: float,
    margin: float,
    comparisons: int | None,
    against: str | None,
    price: tuple[str, ...],
    store: str | None,
    as_json: bool,
) -> None:
    """Say how many queries a difference needs, before money is spent.

    PILOT is a small run of the frameworks that are to be compared: its id, latest, RUN/FRAMEWORK or a result document.
    The spread of its queries and repeats shows how small a difference more of them can find. Without a pilot, the
    worst case is taken, in which every query is won or lost as a whole; most runs need far fewer queries.
    """
    from trialbed.cli.waiting import names_reading
    from trialbed.prices import given_prices
    from trialbed.records import score_key
    from trialbed_evaluation.planning import EVERY, QueryPlanOptions, plan, plan_sides

    sides, pairs = plan_sides(pilot, store, against, names_reading)
    # Only a pilot with repeats shows their gain.
    usual = (1, 3) if pairs and all((side.about.settings["repeat"] or 1) > 1 for side in sides) else (1,)
    options = QueryPlanOptions(
        score=score_key(score),
        queries=tuple(sorted(set(queries or QUERIES))),
        repeats=tuple(sorted(set(repeats or usual))),
        difference=difference,
        comparisons=comparisons or 0,
        margin=margin,
        prices=given_prices(price, EVERY),
    )
    found = plan(sides, pairs, options)
    if as_json:
        print_json(found.as_json())
    else:
        print_plan(found)


def print_plan(found: QueryPlan) -> None:
    """Print a plan as tables."""
    from trialbed.views import Table, print_tables

    tables = [
        Table.of(_title(pairs, found), _columns(pairs[0], found), _rows(pairs[0], found), _notes(pairs[0], found))
        for pairs in _alike(found.pilots)
    ]
    print_tables([*tables, Table("", notes=list(_last_notes(found)))], sys.stdout)


def _alike(pairs: Sequence[PairPlan]) -> Iterable[Sequence[PairPlan]]:
    """Return the pairs of which all is said together, as nothing but their names differs."""
    found: dict[PairPlan, list[PairPlan]] = {}
    for pair in pairs:
        found.setdefault(replace(pair, baseline=pair.baseline and "", candidate=""), []).append(pair)
    return found.values()


def _title(pairs: Sequence[PairPlan], found: QueryPlan) -> str:
    from trialbed.records import shown_name

    shown = f"smallest difference of {shown_name(found.score)} that is found with a chance of {100 * found.power:.0f} %"
    if pairs[0].baseline is None:
        return f"{shown}, in the worst case"
    queries = number_of(pairs[0].queries, "query", "queries")
    against = _join([f"{pair.candidate} against {pair.baseline}" for pair in pairs], "and")
    return f"{shown}: {against}, by a pilot of {queries}"


def _join(words: Sequence[str], last: str) -> str:
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _columns(pair: PairPlan, found: QueryPlan) -> list[str]:
    repeats = [number_of(number, "repeat") for number in dict.fromkeys(cell.repeats for cell in pair.smallest)]
    return ["queries", *repeats, *(f"{each}, USD" for each in repeats if found.cost(1, 1) is not None)]


def _rows(pair: PairPlan, found: QueryPlan) -> Iterator[tuple[str, ...]]:
    from trialbed.views import compact

    for queries in dict.fromkeys(cell.queries for cell in pair.smallest):
        cells = [cell for cell in pair.smallest if cell.queries == queries]
        costs = [found.cost(queries, cell.repeats) for cell in cells]
        yield f"{queries:,}", *map(_smallest, cells), *(compact(cost) for cost in costs if cost is not None)


def _smallest(cell: SmallestDifference) -> str:
    if cell.difference is None:
        return "none"
    return f"{cell.difference:.3f}" if cell.promised else f"{cell.low:.3f} to {cell.high:.3f}"


def _notes(pair: PairPlan, found: QueryPlan) -> Iterator[str]:
    for several in _by_text((needed, _need(needed)) for needed in pair.needed):
        yield f"{_with(several)}{_need(several[0])}"
        for needed in several:
            yield from _cost(needed, found)
    if pair.baseline is None:
        yield "Name a run of two frameworks as a pilot to see what their differences need; most need far fewer queries."
        return
    for several in _by_text((needed, _doubt(needed, pair, found.power)) for needed in pair.needed):
        yield f"{_with(several)}{_doubt(several[0], pair, found.power)}"
    if (pair.repeats or 1) > 1 and not pair.within and pair.between:
        yield "No query's difference changed from one repeat of the pilot to the next, so repeats gain nothing."


def _by_text(needed: Iterable[tuple[NeededQueries, str]]) -> Iterable[Sequence[NeededQueries]]:
    """Return the numbers of repeats of which the same is said, together."""
    found: dict[str, list[NeededQueries]] = {}
    for one, text in needed:
        found.setdefault(text, []).append(one)
    return found.values()


def _with(several: Sequence[NeededQueries]) -> str:
    *others, last = (one.repeats for one in several)
    return f"With {_join([*map(str, others), number_of(last, 'repeat')], 'or')}"


def _need(needed: NeededQueries) -> str:
    return (
        f": {_finding(needed)} find a difference of {needed.difference:g}; {_showing(needed)} show that there is none "
        f"as large as {needed.margin:g}, if there is none."
    )


def _doubt(needed: NeededQueries, pair: PairPlan, power: float) -> str:
    """Say how far the numbers can be trusted, behind the number of repeats."""
    if needed.queries_promised:
        return (
            f", the chance of {100 * power:.0f} % is the mean over pilots like this one: nine of ten "
            f"plan a comparison with a chance of {100 * needed.power_low:.0f} % to {100 * needed.power_high:.0f} %. "
            f"Queries are taken to vary as in the pilot, whose difference is {pair.difference:.3f}."
        )
    if pair.repeats == 1 < needed.repeats:
        return ": ranges, because a pilot without repeats does not show how much repeats gain. Run it with --repeat 3."
    if needed.pilot_queries is None:
        return (
            f": ranges, because {_uniform(pair)} in the pilot, and it is open how others will. Run one with more "
            "queries."
        )
    return (
        f": 90 % ranges, because a pilot of {number_of(pair.queries, 'query', 'queries')} does not show "
        f"the spread well enough. One of about {needed.pilot_queries:,} queries would."
    )


def _uniform(pair: PairPlan) -> str:
    return f"every query differed by {pair.difference:g}" if pair.difference else "no query differed"


def _cost(needed: NeededQueries, found: QueryPlan) -> Iterator[str]:
    """Say how many tokens the trials take that are needed, and what they cost, where the pilot says that of one."""
    from trialbed.views import compact

    if needed.queries is not None:
        ends = (needed.queries_low, needed.queries_high)
        numbers = [needed.queries] if needed.queries_promised else [end for end in ends if end is not None]
        tokens = [one for count in numbers if (one := found.tokens(count, needed.repeats)) is not None]
        if not tokens:
            return
        total = " to ".join(f"{number:,.0f}" for number in tokens)
        costs = [cost for number in numbers if (cost := found.cost(number, needed.repeats)) is not None]
        money = f", {' to '.join(map(compact, costs))} USD" if costs else ""
        yield f"  {_finding(needed)} with {number_of(needed.repeats, 'repeat')}: about {total} tokens{money}."


def _last_notes(found: QueryPlan) -> Iterator[str]:
    from trialbed.views import compact

    yield from (f"INCOMPLETE: {note}." for note in found.incomplete)
    yield (
        f"Two-sided tests at {found.alpha:g}, adjusted for {number_of(found.comparisons, 'comparison')}, "
        "like the verdicts of bench run and compare."
    )
    tokens = {name: value for name, value in found.tokens_per_trial.items() if value is not None}
    if tokens:
        each = ", ".join(f"{name} {value:,.0f}" for name, value in tokens.items())
        yield f"Tokens per trial in the pilot: {each}."
    costs = {name: value for name, value in found.cost_per_trial.items() if value is not None}
    if costs:
        each = ", ".join(f"{name} {compact(value)}" for name, value in costs.items())
        yield f"US dollars per trial: {each}. USD: what a run of all of them costs."
    elif found.cost(1, 1) is not None:
        names = ", ".join(found.cost_per_trial)
        yield f"USD: without the models of {names}, whose prices are not known; give them as --price IN,OUT."
    yield from map(_helper, found.helpers)


def _helper(one: PlannedHelper) -> str:
    """Say how many tokens a helper takes, and whether they are in the figures."""
    from trialbed.views import compact

    name = f"{one.role.capitalize()} {one.model}"
    if one.tokens is None:
        return f"{name}: its tokens are in no figure, as the pilot does not show them; a run that asks it anew does."
    taken = f"{name}: {one.tokens:,.0f} tokens per {one.per}"
    if one.cost is None:
        return f"{taken}, in the numbers of tokens; its price is not known: give it as --price {one.model}=IN,OUT."
    return f"{taken}, {compact(one.cost)} USD, in the numbers of tokens and the costs."


def _finding(needed: NeededQueries) -> str:
    return _numbers(needed.queries, needed.queries_low, needed.queries_high)


def _showing(needed: NeededQueries) -> str:
    return _numbers(
        needed.queries_for_equivalence, needed.queries_for_equivalence_low, needed.queries_for_equivalence_high
    )


def _numbers(found: int | None, low: int | None, high: int | None) -> str:
    if found is None:
        return "more than ten million queries"
    return f"{found:,} queries" if low is None else f"{low:,} to {high:,} queries"
