"""``bench select``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import Numbers, json_option, plain_option, print_json
from trialbed.cli.setting_options import DriverOrFile, data_dir_option, setting_option, setting_options

if TYPE_CHECKING:
    from trialbed.catalogs import ApiCatalog
    from trialbed.records import Query

EPILOG = """\b
Examples:
  bench select --dataset mini --selector bm25 --selector hybrid --k 1,5
  bench select -d stabletoolbench:G1_tool -d stabletoolbench:G1_category --selector hybrid
  bench select -d stabletoolbench:G1_tool --catalog stabletoolbench --selector hybrid
  bench select -d stabletoolbench:G1_tool --explain --query-id 588 --k 10
"""

ASKING = ("selector_model", "base_url", "api_key_env", "endpoint_key_env", "max_helper_requests", "helper_timeout")
"""Settings of the models that selectors ask."""


@click.command("select", epilog=EPILOG)
@plain_option(
    "-d",
    "--dataset",
    "names",
    multiple=True,
    default=("mini",),
    metavar="NAME[:TEST_SET]|FILE",
    help="Tasks to select tools for; repeatable: the catalog has the tools of all. [default: mini]",
)
@plain_option(
    "--selector",
    "selectors",
    multiple=True,
    type=DriverOrFile("selectors"),
    default=("bm25",),
    metavar="NAME|FILE.py:NAME",
    help="Selector to measure; repeatable. [default: bm25]",
)
@plain_option("--k", "ks", type=Numbers(), default="5,20,120", show_default=True, help="Numbers of tools offered.")
@plain_option("-n", "--limit", type=click.IntRange(min=1), help="Maximum number of tasks of a dataset. [default: all]")
@plain_option("--query-id", "query_ids", multiple=True, metavar="ID", help="Only this task; repeatable.")
@plain_option("--explain", is_flag=True, help="Show what is chosen for each task, and why, instead of measures.")
@setting_option("catalog")
@setting_options(*ASKING, "completions")
@data_dir_option
@json_option
def command(
    names: tuple[str, ...],
    selectors: tuple[str, ...],
    ks: tuple[int, ...],
    limit: int | None,
    query_ids: tuple[str, ...],
    *,
    explain: bool,
    catalog: tuple[str, ...],
    data_dir: Path | None,
    as_json: bool,
    **asking: Any,
) -> None:
    """Measure how many of the right tools a selector finds, before any agent runs.

    For each selector and number of tools: recall (the share of a task's expected tools that are offered) and coverage
    (the share of tasks with all expected tools offered), with 95 % intervals.
    """
    from trialbed.settings import data_dir as default_data_dir

    queries, found = _read(names, limit, query_ids, catalog, data_dir or default_data_dir())
    document = _documents(queries, found, dict.fromkeys(selectors), ks, asking, explain=explain)
    if as_json:
        print_json(document)
    elif explain:
        _print_choices(document)
    else:
        _print_measures(document, ks)


def _read(
    names: Sequence[str], limit: int | None, query_ids: Sequence[str], more: Sequence[str], data_dir: Path
) -> tuple[dict[str, list[Query]], ApiCatalog]:
    """Return the queries of each test set, and all Apis including the named catalogs."""
    from trialbed.catalogs import open_catalog, open_dataset
    from trialbed.errors import UsageError

    found: dict[str, list[Query]] = {}
    datasets = []
    for name in dict.fromkeys(names):
        dataset = open_dataset(name, data_dir)
        datasets.append(dataset)
        found[name if dataset.test_set in found else dataset.test_set] = [
            query for query in dataset.queries() if not query_ids or str(query.query_id) in query_ids
        ][:limit]
    known = {str(query.query_id) for own in found.values() for query in own}
    missing = [wanted for wanted in query_ids if wanted not in known]
    if missing:
        raise UsageError(f"--query-id: {', '.join(names)} has no task {', '.join(missing)}")
    if not any(query.gold_apis for own in found.values() for query in own):
        raise UsageError(f"{', '.join(names)}: no task says which tools solve it, so selectors cannot be measured")
    return found, open_catalog(datasets, more, data_dir)


def _documents(
    queries: dict[str, list[Query]],
    catalog: ApiCatalog,
    selectors: Sequence[str] | dict[str, None],
    ks: Sequence[int],
    asking: dict[str, Any],
    *,
    explain: bool,
) -> dict[str, Any]:
    from trialbed.engine import standing_selector
    from trialbed.settings import RunSettings
    from trialbed_selection.recall import rankings, summarize_recall
    from trialbed_selection.tools import explain_choices

    found: dict[str, Any] = {}
    for name in selectors:
        with standing_selector(RunSettings(selector=name, **asking), catalog) as selector:
            if explain:
                found[name] = [explain_choices(selector, query, ks[-1]) for own in queries.values() for query in own]
            else:
                found[name] = summarize_recall(list(rankings(selector, queries, ks[-1])), ks)
    return {
        "catalog": {"apis": len(catalog), "digest": catalog.digest},
        "k": list(ks),
        "explanations" if explain else "selectors": found,
    }


def _print_measures(document: dict[str, Any], ks: Sequence[int]) -> None:
    from trialbed.views import Table, print_tables
    from trialbed_selection.recall import MEASURES

    columns = ["test set", "selector", *(f"{name}@{k}" for name in MEASURES for k in ks), "ms"]
    catalog = document["catalog"]
    notes = (
        *_filled_up(document),
        "recall: share of expected tools offered; coverage: share of tasks with all of them offered. Means over "
        "tasks with 95 % intervals; ms: median time of a task.",
        f"Catalog {catalog['digest'][:16]} of {catalog['apis']:,} tools.",
    )
    print_tables([replace(Table.of("selection", columns, _rows(document, ks), notes), pinned=1)], sys.stdout)


def _filled_up(document: dict[str, Any]) -> Iterator[str]:
    """Explain which part of a selector's figures is not its model's."""
    for name, rows in document["selectors"].items():
        shares = {k: share for k, share in rows[-1]["topped_up"].items() if share}
        if shares:
            told = ", ".join(f"{100 * share:.0f} % @{k}" for k, share in shares.items())
            yield f"Of the tools that {name} offers, bm25 chose those that its model did not name: {told}."


def _rows(document: dict[str, Any], ks: Sequence[int]) -> Iterator[tuple[str, ...]]:
    from trialbed.views import estimate
    from trialbed_selection.recall import MEASURES

    places = range(len(next(iter(document["selectors"].values()))))
    for place in places:
        for name, rows in document["selectors"].items():
            row = rows[place]
            label = row["test_set"] or "all"
            figures = [estimate(row["at"][str(k)][measure], 3) for measure in MEASURES for k in ks]
            yield f"{label} ({row['queries']})", name, *figures, f"{row['milliseconds']:.1f}"


def _print_choices(document: dict[str, Any]) -> None:
    from trialbed.views import Table, print_tables, printable

    tables = []
    for name, explanations in document["explanations"].items():
        for item in explanations:
            rows = [
                (
                    str(choice["rank"]),
                    "expected" if choice["gold"] else "",
                    "-" if choice["score"] is None else f"{choice['score']:.4g}",
                    choice["by"] + (", filled up" if choice["topped_up"] else ""),
                    printable(" / ".join((choice["category"], choice["tool_name"], choice["api_name"]))),
                )
                for choice in item["choices"]
            ]
            missed = [" / ".join(ref) for ref in item["missed"]]
            notes = [printable(f"Task: {' '.join(item['query'].split())}"), *(f"Not offered: {ref}" for ref in missed)]
            title = f"task {item['query_id']}, {name}"
            tables.append(Table.of(title, ["rank", "", "score", "by", "tool"], rows, notes))
    print_tables(tables, sys.stdout)
