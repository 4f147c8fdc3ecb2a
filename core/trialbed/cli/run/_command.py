"""``bench run``."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.environments import chosen_environments, env_dir_option, yes_option
from trialbed.cli.options import (
    FOLDER,
    FiniteRange,
    api_key_env_option,
    base_url_option,
    data_dir_option,
    json_option,
    option,
    response_cache_option,
)

if TYPE_CHECKING:
    from trialbed.engine import RunOptions

EPILOG = """\b
Examples:
  bench run
  bench run --framework reference --framework langgraph --limit 20
  bench run --framework crewai --framework openai-agents --yes
  bench run --framework langgraph==1.2.11 --framework langgraph
  bench run --framework langgraph --dataset stabletoolbench:G1_instruction --concurrency 8
  bench run --model gpt-4o-mini --base-url https://api.openai.com/v1 --judge gpt-4o-mini
"""


@click.command("run", epilog=EPILOG)
@option(
    "-f",
    "--framework",
    "frameworks",
    multiple=True,
    default=("reference",),
    metavar="NAME[==VERSION]",
    help="Framework to run, in this release of it; repeatable.",
)
@option("-d", "--dataset", default="mini", metavar="NAME[:TEST_SET]|FILE", help="Queries to run.")
@option("-m", "--model", default="scripted:gold", help="A scripted model, or a model of --base-url.")
@base_url_option
@api_key_env_option
@option("-n", "--limit", type=click.IntRange(min=1), help="At most so many queries. [default: all]")
@option("--query-id", "query_ids", multiple=True, metavar="ID", help="Only this query; repeatable.")
@option("--repeat", type=click.IntRange(min=1), default=1, help="Trials per framework and query.")
@option("-j", "--concurrency", type=click.IntRange(min=1), default=4, help="Trials at a time.")
@option("--selector", default="query", metavar="NAME", help="What chooses the tools that are offered.")
@option("--max-tools", type=click.IntRange(min=1), default=120, help="Tools offered per query, at most.")
@option("--judge", default="rule", metavar="rule|MODEL", help="What grades the answers.")
@option("--judge-votes", type=click.IntRange(min=1), default=1, help="Verdicts per answer.")
@option("--max-steps", type=click.IntRange(min=1), default=12, help="Model requests per trial, at most.")
@option("--timeout", type=FiniteRange(min=0, min_open=True), default=120.0, help="Seconds per trial, at most.")
@option("--temperature", type=FiniteRange(min=0), default=0.0, help="Sampling temperature of the model.")
@option("--max-tokens", type=click.IntRange(min=1), help="Tokens per completion, at most. [default: the model's]")
@option("--seed", type=int, default=0, help="Seed that every trial's own seed derives from.")
@option("--server-url", metavar="URL", help="Use this running server. [default: start one for the run]")
@option("--executor", default="local", metavar="NAME", help="Where workers run.")
@option("--store", metavar="FILE|URL", help="Where trials are kept. [default: .trialbed/trialbed.db]")
@response_cache_option
@option(
    "-o",
    "--output",
    type=FOLDER,
    help="Folder of the documents. [default: results/tools]",
)
@data_dir_option
@option(
    "--fail-under", multiple=True, metavar="SCORE=X", help="Exit with 1 if the mean of SCORE is below X; repeatable."
)
@click.option("--fresh", is_flag=True, help="Discard an unfinished run of this configuration and start over.")
@yes_option
@env_dir_option
@json_option
def command(
    frameworks: tuple[str, ...],
    fail_under: tuple[str, ...],
    yes: bool,
    env_dir: Path | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Run trials and report how well frameworks use tools.

    Every trial is observed at the wire by a server that is started for the run. The same command again
    resumes an unfinished run; after a finished one it is a new run. Without options: the reference loop on the
    embedded dataset with a scripted model.

    A framework that is not installed here, or not in the release that is asked for, runs in an environment of
    its own, which is built with uv at the first time (see bench env).
    """
    from trialbed.cli.thresholds import below, parse_thresholds

    thresholds = parse_thresholds(fail_under)
    options = _options(frameworks, given)
    options = _with_environments(options, yes=yes, env_dir=env_dir)
    try:
        documents = asyncio.run(_run(options))
    except asyncio.CancelledError:
        raise click.Abort from None
    _print(documents, options, as_json=as_json)
    return 1 if below(thresholds, documents) else 0


def _options(frameworks: tuple[str, ...], given: dict[str, Any]) -> RunOptions:
    from trialbed.engine import RunOptions
    from trialbed.records import Limits

    limits = Limits(max_steps=given.pop("max_steps"), timeout=given.pop("timeout"))
    chosen = {name: value for name, value in given.items() if value is not None}
    return RunOptions(frameworks=tuple(dict.fromkeys(frameworks)), limits=limits, **chosen)


def _with_environments(options: RunOptions, *, yes: bool, env_dir: Path | None) -> RunOptions:
    def check() -> None:
        """Find a wrong dataset or model before minutes go into environments."""
        from trialbed.engine import prepare

        prepare(replace(options, frameworks=()))

    environments = chosen_environments(options.frameworks, yes=yes, env_dir=env_dir, check=check)
    return replace(options, environments=environments)


async def _run(options: RunOptions) -> list[dict[str, Any]]:
    from trialbed.cli.run._progress import progress
    from trialbed.cli.signals import cancel_on_terminate
    from trialbed.engine import run

    with cancel_on_terminate(), progress() as shown:
        return await run(options, progress=shown)


def _print(documents: list[dict[str, Any]], options: RunOptions, *, as_json: bool) -> None:
    if as_json:
        import json

        click.echo(json.dumps(documents[0] if len(documents) == 1 else documents, ensure_ascii=False, indent=2))
        return
    from trialbed.drivers import load_driver
    from trialbed.results import document_path

    load_driver("reporters", "table")().report(documents, sys.stdout)
    for document in documents:
        click.echo(f"written: {document_path(document, options.output)}")
