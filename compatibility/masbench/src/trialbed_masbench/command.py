"""Run and measure another benchmark's agents with ``bench adopt``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trialbed.cli.options import json_option, plain_option
from trialbed.cli.setting_options import data_dir_option, response_cache_option
from trialbed.cli.stored import store_option

if TYPE_CHECKING:
    from trialbed.preparation import RunOptions
    from trialbed.report import Report
    from trialbed.views import Table

APIS = ("chat_completions", "responses")

ASKED_FOR = "gpt-4o-mini"
"""The agents' name for a scripted model."""

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group("adopt", epilog="Example: bench adopt masbench MASBench/")
def command() -> None:
    """Run what was made for another benchmark, unaltered, beside what that published."""


@command.command(
    "masbench",
    epilog="""\b
Examples:
  bench adopt masbench MASBench/
  bench adopt masbench MASBench/ --agent langgraph --python crewai=crewai/bin/python
  bench adopt masbench MASBench/ --model gpt-4o-mini --base-url https://api.openai.com/v1
""",
)
@click.argument("checkout", type=FOLDER)
@plain_option(
    "--agent", "agents", multiple=True, metavar="NAME", help="Run this one of its agents; repeatable. [default: all]"
)
@plain_option(
    "--python",
    "pythons",
    multiple=True,
    metavar="NAME=PYTHON",
    help="The interpreter in which an agent's framework is installed; repeatable. [default: this one]",
)
@plain_option(
    "--test-set", default="G1_instruction", metavar="NAME", help="StableToolBench's test set. [default: G1_instruction]"
)
@plain_option(
    "--max-queries", type=click.IntRange(min=1), default=3, help="Number of tasks, from the first. [default: 3]"
)
@plain_option(
    "--model", default="scripted:gold", help="A scripted model, or a model of --base-url. [default: scripted:gold]"
)
@plain_option("--base-url", metavar="URL", help="OpenAI-compatible endpoint of the model.")
@plain_option(
    "--openai-api",
    type=click.Choice(APIS),
    default=APIS[0],
    help="The protocol that the OpenAI Agents SDK speaks. [default: chat_completions]",
)
@data_dir_option
@response_cache_option
@store_option
@json_option
def masbench(
    checkout: Path,
    agents: Sequence[str],
    pythons: Sequence[str],
    test_set: str,
    max_queries: int,
    model: str,
    base_url: str | None,
    openai_api: str,
    data_dir: Path | None,
    response_cache: str | None,
    store: str | None,
    *,
    as_json: bool,
) -> int:
    """Run a checkout of MASBench.

    Its tasks and its cached responses are imported, and its agents run unaltered, each task in its own process.
    The table has the figures that the checkout publishes beside those that the server saw.
    """
    from trialbed.errors import UsageError
    from trialbed.settings import read_env_file
    from trialbed_masbench._adoption import adoption_table, import_data, run_options
    from trialbed_masbench._checkout import Checkout

    read_env_file(Path.cwd())
    found = Checkout(checkout)
    interpreters = _interpreters(pythons)
    chosen = found.agents(agents)
    problems = {agent.name: agent.problem(interpreters.get(agent.name)) for agent in chosen}
    runnable = [agent for agent in chosen if not problems[agent.name]]
    not_run = [f"{name} was not run: {problem}" for name, problem in problems.items() if problem]
    if not runnable:
        raise UsageError("\n".join(not_run) or f"{checkout}: it has no agents")
    options = run_options(
        [agent.command(interpreters.get(agent.name), openai_api) for agent in runnable],
        test_set=test_set,
        limit=max_queries,
        model=(model,),
        model_name=ASKED_FOR if model.startswith("scripted:") else None,
        base_url=base_url,
        data_dir=data_dir,
        response_cache=response_cache,
        store=store,
    )
    for line in import_data(found, options):
        click.echo(line, err=True)
    report = _run(options)
    _print(report, adoption_table(found, report, not_run, openai_api=openai_api), as_json=as_json)
    return 3 if report.incomplete else 0


def _interpreters(given: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in given:
        name, equals, python = text.partition("=")
        if not (name and equals and Path(python).is_file()):
            raise click.UsageError(f"--python {text!r}: write NAME=PYTHON, with the path of an interpreter")
        found[name] = str(Path(python).absolute())
    return found


def _run(options: RunOptions) -> Report:
    import asyncio

    from trialbed.api import function_progress
    from trialbed.run_report import run_and_report

    return asyncio.run(run_and_report(options, progress=function_progress(None)))


def _print(report: Report, table: Table, *, as_json: bool) -> None:
    from trialbed.cli.formats import print_documents
    from trialbed.views import print_tables

    if as_json:
        print_documents(report)
    else:
        print_tables([table], sys.stdout)
        click.echo(f"every trial, as the server saw it: bench show {report.run.run_id}")
