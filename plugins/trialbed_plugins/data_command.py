"""The command ``bench data``, which lists, imports and shows datasets and imports cached responses."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import json_option, plain_option, print_json
from trialbed.cli.setting_options import data_dir_option, response_cache_option
from trialbed.texts import number_of

if TYPE_CHECKING:
    from trialbed.records import Query


LONGEST_KEY = 200
"""Longest key in a message, in characters."""


def _response_server() -> Any:
    """Return the package of the server, which reads and writes the cache."""
    from trialbed.drivers import load_driver

    return load_driver("components", "server")


def _import_folder(folder: Path, location: str) -> dict[str, Any]:
    """Import a cache folder with progress and problems on standard error, and return the report."""
    from trialbed.cli.progress import new_display

    display = new_display()
    display.begin("files", 0, 0)
    try:
        report = _response_server().import_cache(folder, location, partial(display.move, "files"))
    finally:
        display.end()
    for problem in report.problems:
        where = f"{problem.file}: {_shorten(problem.key)}" if problem.key else str(problem.file)
        click.echo(f"not imported: {where}: {problem.message}", err=True)
    problems = [asdict(problem) | {"file": str(problem.file)} for problem in report.problems]
    return asdict(report) | {"problems": problems}


def _shorten(key: str) -> str:
    return key if len(key) <= LONGEST_KEY else f"{key[:LONGEST_KEY]}… ({len(key):,} characters)"


def _imported_line(report: dict[str, Any]) -> str:
    new, files = number_of(report["new"], "answer"), number_of(report["files"], "file")
    return f"{new} imported from {files}, {report['known']} known before"


EPILOG = """\b
Examples:
  bench data list
  bench data import StableToolBench/
  bench data show stabletoolbench:G1_instruction
  bench data import tool_response_cache/
"""


FIRST = 5
"""Tasks of a dataset to show."""

TEXT = 80
"""Characters of each task."""


@click.group("data", epilog=EPILOG)
def command() -> None:
    """List, import and show datasets; import cached answers."""


@command.command("list", epilog="Example: bench data list --json")
@data_dir_option
@json_option
def list_(data_dir: Path | None, as_json: bool) -> None:
    """List the datasets that can be run, with their test sets."""
    rows = [
        {"name": name, "test_sets": list(driver.test_sets(_folder(data_dir))), "description": driver.description}
        for name, driver in _drivers()
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        click.echo(f"{row['name']}: {row['description']}")
        for test_set in row["test_sets"]:
            click.echo(f"  {row['name']}:{test_set}" if test_set != row["name"] else f"  {row['name']}")


@command.command("import", epilog="Example: bench data import StableToolBench/")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@data_dir_option
@response_cache_option
@json_option
def import_(folder: Path, data_dir: Path | None, response_cache: str | None, as_json: bool) -> None:
    """Check a folder of data and import it.

    Afterwards --dataset accepts its test sets. A folder of cached answers, such as StableToolBench's
    tool_response_cache, goes into the virtual API's response cache. Files that cannot be read are listed on standard
    error. After an interruption, the same command imports the rest.
    """
    is_cache = folder.resolve().name == "tool_response_cache"
    found = next((one for one in _drivers() if not is_cache and one[1].recognises(folder)), None)
    if found is None:
        _import_cache(folder, response_cache, as_json=as_json)
        return
    name, driver = found
    test_sets = list(driver.import_folder(folder, _folder(data_dir)))
    if as_json:
        print_json({"name": name, "test_sets": test_sets})
        return
    for test_set in test_sets:
        click.echo(f"imported {name}:{test_set}")
    if not test_sets:
        click.echo(f"imported the tool documents; the test sets of {name} now have their tools")


def _import_cache(folder: Path, response_cache: str | None, *, as_json: bool) -> None:
    from trialbed.errors import UsageError
    from trialbed.settings import response_cache as usual_cache

    found = _response_server().cache_folder(folder.resolve())
    if found is None:
        raise UsageError(f"{folder}: no installed dataset driver recognises this folder; see bench data list")
    report = _import_folder(found, str(response_cache or usual_cache()))
    if as_json:
        print_json(report)
    else:
        click.echo(_imported_line(report))


@command.command("show", epilog="Example: bench data show mini --query-id 1")
@click.argument("dataset")
@plain_option("--query-id", help="Show this task in full, or tasks in a range such as 1-5.")
@data_dir_option
@json_option
def show(dataset: str, query_id: str | None, data_dir: Path | None, as_json: bool) -> None:
    """Show a dataset, or one of its tasks."""
    from trialbed.catalogs import choose_queries, open_dataset

    opened = open_dataset(dataset, _folder(data_dir))
    if query_id is not None:
        chosen = choose_queries(opened, None, (query_id,))
        if as_json:
            documents = [query.model_dump(mode="json") for query in chosen]
            print_json(documents[0] if len(documents) == 1 else documents)
        for query in () if as_json else chosen:
            _print_query(query)
        return
    figures = _figures(opened)
    if as_json:
        print_json(figures)
    else:
        _print_dataset(opened, figures)


def _print_query(query: Query) -> None:
    """Print a query's task, the calls that solve it, and the facts that the answer must contain."""
    from trialbed.views import printable

    def line(text: str) -> None:
        click.echo(printable(text))

    line(f"task {query.query_id}: {query.text}")
    if not query.states_calls:
        line("calls: the task does not say which ones solve it")
    for place, call in enumerate(query.gold_calls, 1):
        arguments = "any arguments" if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)
        line(f"call {place}: {call.api.title} {arguments}")
    if query.reference_answer is not None:
        line(f"answer: {query.reference_answer}")
    for fact in query.reference_facts:
        line(f"must say: {fact}")
    names = ", ".join(api.ref.title for api in query.apis)
    line(f"on offer: {len(query.apis)} tools{f': {names}' if names else ''}")
    line("All of it, schemas included: the same command with --json")


def _print_dataset(dataset: Any, figures: dict[str, Any]) -> None:
    from trialbed.texts import number_of, one_line
    from trialbed.views import printable

    title = figures["name"] if figures["name"] == figures["test_set"] else f"{figures['name']}, {figures['test_set']}"
    click.echo(printable(f"{title}: {number_of(figures['queries'], 'task', 'tasks')}, sha256 {figures['digest'][:12]}"))
    click.echo(
        f"tools: {figures['apis']:,} in {figures['tools']:,} collections and {figures['categories']:,} categories\n"
        f"expected calls: {figures['gold_apis']:,}, at most {figures['most_gold_apis_of_a_query']} per task"
    )
    for query in dataset.queries()[:FIRST]:
        click.echo(printable(f"task {query.query_id}: {one_line(query.text, TEXT)}"))
    if figures["queries"] > FIRST:
        click.echo(f"… and {figures['queries'] - FIRST:,} more; one of them: --query-id ID")


def _figures(dataset: Any) -> dict[str, Any]:
    queries, apis = dataset.queries(), dataset.apis()
    gold = [len(query.gold_apis) for query in queries]
    return {
        "name": dataset.name,
        "test_set": dataset.test_set,
        "digest": dataset.digest(),
        "queries": len(queries),
        "categories": len({api.category for api in apis}),
        "tools": len({(api.category, api.tool_name) for api in apis}),
        "apis": len(apis),
        "gold_apis": sum(gold),
        "most_gold_apis_of_a_query": max(gold, default=0),
    }


def _drivers() -> list[tuple[str, Any]]:
    from trialbed.catalogs import dataset_driver
    from trialbed.drivers import list_drivers

    return [(info.name, dataset_driver(info.name)) for info in list_drivers("datasets")]


def _folder(chosen: Path | None) -> Path:
    from trialbed.settings import data_dir

    return chosen or data_dir()
