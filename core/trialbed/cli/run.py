"""``bench run``."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.env import chosen_environments, env_dir_option, yes_option
from trialbed.cli.formats import chosen_format, print_documents, run_format_option
from trialbed.cli.options import SectionedCommand, json_option, option, plain_option
from trialbed.cli.setting_options import plugin_option, setting_options
from trialbed.cli.stored import legend_option, next_commands, run_reporter
from trialbed.cli.thresholds import (
    below,
    check_baseline,
    check_scores,
    check_tags,
    parse_thresholds,
    print_thresholds,
    regressed,
)
from trialbed.texts import number_were

if TYPE_CHECKING:
    from trialbed.contracts import Reporter
    from trialbed.preparation import RunOptions
    from trialbed.records import Run
    from trialbed.report import Report
    from trialbed.report.comparison import Side

EPILOG = """\b
Examples:
  bench run --framework reference --framework langgraph --limit 20
  bench run
  bench run --framework crewai --framework openai-agents --yes
  bench run --framework langgraph==1.2.11 --framework langgraph
  bench run --command 'node agent.mjs' --framework reference
  bench run --framework langgraph --dataset stabletoolbench:G1_instruction --concurrency 8
  bench run --framework reference --framework langgraph --limit 60 --extend
  bench run --retry-failed
  bench run --model gpt-4o-mini --base-url https://api.openai.com/v1 --judge gpt-4o-mini
  bench run -f reference -f langgraph --model scripted:gold --model scripted:partial
  bench run --framework ./agent.py:Agent --judge ./judge.py:Mine --plugin ./scorer.py
  bench run --model llama3.2@http://localhost:11434/v1 --model gpt-4o-mini@https://api.openai.com/v1
"""

SECTIONS = {
    "Which tasks and trials": "query_ids only_tags shuffle repeat seed max_steps max_trial_tokens timeout faults",
    "Frameworks and where they run": "commands profiles system_prompt against margin sandbox executor executor_options "
    "ray_address env_dir yes",
    "The model and its endpoint": "model_name allowed_models temperature max_tokens rpm tpm probe "
    "chat_template on_miss model_cache price budget api_key_env endpoint_key_env model_retries endpoint_patience",
    "The tools that are offered": "mcp tool_answers selector max_tools catalog selector_model simulator_model",
    "The judge, scorers, and the models of helpers": "judge_votes judge_model judge_prompts "
    "user_model max_helper_requests helper_timeout plugins",
    "Continuing runs, and exit codes": "fresh retry_failed extend allow_incomplete fail_under baseline lost_tasks",
    "What is kept and printed": "tags note store response_cache completions output data_dir server_url legend "
    "gold_answers",
}
"""The options after the first ten, under headings."""


@click.command(
    "run", cls=SectionedCommand, sections={title: names.split() for title, names in SECTIONS.items()}, epilog=EPILOG
)
@setting_options()
@plugin_option
@option(
    "--fail-under", multiple=True, metavar="SCORE=X", help="Exit with 1 if the mean of SCORE is below X; repeatable."
)
@option(
    "--fail-on-regression",
    "baseline",
    metavar="RUN",
    help="Exit with 1 if any score's verdict is worse than in this run or result document.",
)
@option(
    "--fail-on-lost-task",
    "lost_tasks",
    metavar="RUN",
    help="Exit with 1 if a task is never solved that was always solved in this run or result document.",
)
@run_format_option
@legend_option
@plain_option("--fresh", is_flag=True, help="Discard an unfinished run of this configuration and start over.")
@plain_option("--retry-failed", is_flag=True, help="Repeat the failed trials of the last run of this configuration.")
@plain_option(
    "--extend",
    is_flag=False,
    flag_value="last",
    metavar="[RUN_ID|last]",
    help="Continue a run with the frameworks, tasks or repeats that it lacks. [default: the last that fits]",
)
@plain_option(
    "--allow-incomplete",
    is_flag=True,
    help="Accept unmeasured trials and answers without a verdict: compare the tasks that all frameworks have.",
)
@plain_option(
    "--gold-answers",
    is_flag=True,
    help="Make each task's expected calls once, and store their answers and times in the result documents.",
)
@yes_option
@env_dir_option
@json_option
def command(
    fail_under: tuple[str, ...],
    yes: bool,
    env_dir: Path | None,
    baseline: str | None,
    lost_tasks: str | None,
    form: str | None,
    as_json: bool,
    legend: bool,
    **given: Any,
) -> int:
    """Run trials and report how well frameworks use tools.

    The run starts a server, which observes every request. Repeating the command resumes an unfinished run; after a
    finished run it starts a new one, unless --retry-failed or --extend adds to the old one. If the endpoint or the
    server failed in some trials, the run is incomplete: the exit code is 3, and repeating the command runs those trials
    only. It is also 3 if the judge gave no verdict on some answers. Without options, a plain loop runs the embedded
    dataset with a scripted model.

    If a framework, or the requested release of it, is not installed here, it runs in its own environment, which uv
    builds on first use (see bench env).
    """
    thresholds: dict[str, float] = {}
    if fail_under:
        thresholds = parse_thresholds(fail_under)
        check_scores(thresholds, given["repeat"] or 1)
    form = chosen_format(form, as_json=as_json)
    reporter = None if form == "json" else run_reporter(form, explained=legend, brief=form == "table" and not legend)
    named = {"--fail-on-regression": baseline, "--fail-on-lost-task": lost_tasks}
    sides: dict[str, list[Side]] = {}
    options = _options(given)
    if any("[" in name for name in thresholds):
        check_tags(thresholds, options)
    for name, run in named.items():
        if run is not None:
            from trialbed.report.comparison import complete_sides

            sides[name] = complete_sides(run, given["store"])
            check_baseline(name, sides[name], options)
    options = _with_environments(options, yes=yes, env_dir=env_dir)
    try:
        report = asyncio.run(_run(options))
    except asyncio.CancelledError:
        raise click.Abort from None
    if reporter is None:
        print_documents(report)
    elif form == "junit" and thresholds:
        print_thresholds(thresholds, report)
    else:
        _print(report, options, reporter, form)
    if form != "table":
        print_problems(report)
    if not options.allow_incomplete and _says_incomplete(report, thresholds):
        return 3
    failed = bool(thresholds) and below(thresholds, report)
    for name, own in sides.items():
        lost = name == "--fail-on-lost-task"
        failed = regressed(own, report, options.margin, lost_tasks=lost) or failed
    return int(failed)


def _options(given: dict[str, Any]) -> RunOptions:
    from trialbed.plugin_files import file_command
    from trialbed.preparation import RunOptions

    chosen = {name: value for name, value in given.items() if value is not None}
    source, default = click.get_current_context().get_parameter_source, click.core.ParameterSource.DEFAULT
    if given["base_url"] and source("model") is default:
        raise click.UsageError(
            "--base-url names an endpoint, but none of its models is used: give --model NAME "
            "(or --model scripted:gold, to use the endpoint for --judge only)"
        )
    # Programs that are given take the place of the framework that runs by default.
    is_left_out = source("frameworks") is default and given["commands"]
    frameworks = () if is_left_out else dict.fromkeys(given["frameworks"])
    programs = {name: command for name in frameworks if (command := file_command(name)) is not None}
    own = {
        "frameworks": tuple(name for name in frameworks if name not in programs),
        "commands": (*given["commands"], *programs.values()),
    }
    return RunOptions(**chosen | own)


def _with_environments(options: RunOptions, *, yes: bool, env_dir: Path | None) -> RunOptions:
    def check() -> None:
        """Find a wrong dataset, model or program before minutes go into environments."""
        from trialbed.agent_programs import agent_commands
        from trialbed.run_report import prepare_run

        prepare_run(replace(options, frameworks=(), commands=()))
        agent_commands(options.commands, Path.cwd())

    environments = chosen_environments(options.frameworks, yes=yes, env_dir=env_dir, check=check)
    return replace(options, environments=environments)


async def _run(options: RunOptions) -> Report:
    from trialbed.cli.progress import cancel_on_terminate, followed, new_display
    from trialbed.cli.run_progress import TrialProgress
    from trialbed.run_report import run_and_report

    with cancel_on_terminate(), followed(TrialProgress(new_display())) as shown:
        return await run_and_report(options, progress=shown)


def _print(report: Report, options: RunOptions, reporter: Reporter, form: str) -> None:
    """Print the result like ``bench show``, and the paths of the documents."""
    from trialbed.cli.show import print_screen
    from trialbed.drivers import load_driver
    from trialbed.report import document_path, worst_queries
    from trialbed.settings import store_file
    from trialbed.store import open_run

    run, store = open_run(report.run.run_id, options.store), None if options.store == store_file() else options.store
    if form == "table":
        print_screen(run, report, reporter, store)
    elif form == "html":
        click.echo(load_driver("components", "pages").run_report(run, options.data_dir))
    else:
        reporter.report(report, sys.stdout)
    if form != "table":  # programs may read the output
        click.echo(next_commands(report.run.run_id, worst_queries(report, most=1), store), err=True)
    paths = [document_path(one.framework, report.run.config.test_set, options.output) for one in report.frameworks]
    written = paths[0] if len(paths) == 1 else f"{len(paths)} documents in {paths[0].parent}"
    click.echo(f"written: {written}", err=form != "table")


def print_problems(report: Report) -> None:
    """Say on stderr why trials failed, as the table does."""
    from trialbed.report import reason_lines
    from trialbed.views import printable

    for summary in report.frameworks:
        for line in reason_lines(summary):
            click.echo(printable(f"{summary.framework}: {line}"), err=True)


def _says_incomplete(report: Report, thresholds: Mapping[str, float]) -> bool:
    """Say whether trials or verdicts are missing, and return it."""
    undecided = "--fail-under is not decided. " if thresholds else ""
    summaries = report.frameworks
    if any(summary.incomplete for summary in summaries):
        missing = sum(summary.counts.not_measured for summary in summaries)
        from trialbed.report import how_to_complete

        how = how_to_complete(summaries).capitalize()
        click.echo(
            f"Error: the run is incomplete: {number_were(missing, 'trial')} not measured. {undecided}{how}; "
            "--allow-incomplete accepts the run as it is.",
            err=True,
        )
        return True
    without = sum(found.count for summary in summaries for found in summary.untold if found.kind == "judge")
    if without:
        answers = "1 answer has" if without == 1 else f"{without} answers have"
        # The rule would say the same again.
        again = "" if report.run.config.judge == "rule" else f"{_judge_again(report.run)} asks again; "
        click.echo(
            f"Error: {answers} no verdict of the judge. {undecided}{again}--allow-incomplete accepts the run as it is.",
            err=True,
        )
    return without > 0


def _judge_again(run: Run) -> str:
    """Return the command that asks the judge of a run for the verdicts that are missing."""
    config = run.config
    model = ["--judge-model", config.judge_model] if config.judge_model else []
    return shlex.join(["bench", "score", run.run_id, "--judge", config.judge, *model])
