"""Compare a framework and the plain loop in ``bench demo``, with a model that writes broken JSON."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trialbed.cli.env import chosen_environments, env_dir_option

if TYPE_CHECKING:
    from trialbed.report import Report, Summary

FRAMEWORKS = ("reference", "langgraph")
BROKEN, GOLD = "scripted:bad-json", "scripted:gold"
TASKS = 30

WIDTH = 10
"""Characters of a bar."""

NEXT = """\
See the call:  bench view --open
Your tools:    bench init langgraph my-agent
Your model:    bench run --framework langgraph --model NAME --base-url URL"""


@click.command("demo", epilog="Example: bench demo")
@env_dir_option
def command(env_dir: Path | None) -> None:
    """Show what LangGraph's defaults do with thirty tasks if the model writes broken JSON.

    A plain loop does the same tasks. The models are scripted, so no key is needed. If LangGraph is not installed here,
    it gets its own environment.
    """
    from trialbed.cli.progress import cancel_on_terminate, followed, new_display
    from trialbed.cli.run_progress import TrialProgress
    from trialbed.errors import EnvironmentFailed, NothingMeasured
    from trialbed.preparation import RunOptions
    from trialbed.run_report import run_and_report

    try:
        environments = chosen_environments(FRAMEWORKS, yes=True, env_dir=env_dir)
    except EnvironmentFailed as error:
        raise EnvironmentFailed(
            f"the demo needs LangGraph and Trialbed's adapter for it, which cannot be installed: {error}\n"
            "From a clone of the repository, `make demo` installs both."
        ) from error
    options = RunOptions(frameworks=FRAMEWORKS, model=(BROKEN, GOLD), limit=TASKS, environments=environments)

    async def run() -> Report:
        with cancel_on_terminate(), followed(TrialProgress(new_display())) as shown:
            return await run_and_report(options, progress=shown, documents=False)

    try:
        report = asyncio.run(run())
    except asyncio.CancelledError:
        raise click.Abort from None
    if report.incomplete:
        raise NothingMeasured(f"the demo could not be completed: bench show {report.run.run_id} says why")
    click.echo("\n".join(_lines(report)))


def _lines(report: Report) -> Iterator[str]:
    from trialbed.records import framework_name

    setups = {(framework_name(one.framework), one.model): one for one in report.frameworks}
    rows = {"plain loop": setups["reference", BROKEN], "langgraph (defaults)": setups["langgraph", BROKEN]}
    yield from _sentences(rows["langgraph (defaults)"], setups["langgraph", GOLD])
    yield ""
    for name, summary in rows.items():
        yield f"  {name:<22}{_figures(summary)}"
    yield ""
    if shutil.which("bench") is None or "UV" in os.environ:  # set by uv, as is the PATH
        activate = Path(sys.prefix) / "bin" / "activate"
        yield "So that your shell finds bench:"
        yield f"  . {os.path.relpath(activate) if activate.is_relative_to(Path.cwd()) else activate}"
        yield ""
    yield NEXT


def _sentences(broken: Summary, gold: Summary) -> Iterator[str]:
    """Yield the result with broken JSON, and the result of the same tasks with correct JSON."""
    solved, tasks = broken.counts.solved, broken.counts.queries
    some = "tasks" if solved else "every task"
    said = f"loses {some} in which the model's JSON is broken: {tasks - solved} of {tasks}"
    if solved == tasks:
        said = f"solves all {tasks} tasks although the model's JSON is broken"
    yield f"LangGraph with its defaults {said}."
    yield f"With correct JSON it solves {gold.counts.solved} of {tasks} (one trial each)."


def _figures(summary: Summary) -> str:
    """Return how many tasks a setup solves, as a bar too, and the medians of a trial."""
    counts = summary.counts
    full, empty = "█░" if (sys.stdout.encoding or "").lower().startswith("utf") else "#."
    filled = WIDTH * counts.solved // counts.queries
    told = f"{summary.middle('total_tokens'):>7,.0f} tokens  {summary.middle('wall_time'):5.2f} s"
    if not counts.solved and summary.tokens.requests == counts.trials:
        told = "stops at the first broken call"
    return f"{counts.solved:>3}/{counts.queries}  {full * filled}{empty * (WIDTH - filled)}  {told}"
