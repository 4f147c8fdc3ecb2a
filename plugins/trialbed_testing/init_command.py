"""``bench init``."""

from __future__ import annotations

from pathlib import Path

import click

from trialbed.cli.options import FOLDER

FRAMEWORKS = ("openai", "anthropic", "langgraph", "crewai", "autogen", "openai-agents", "agno")

EPILOG = """\b
Examples:
  bench init openai
  bench init langgraph my-agent
"""


@click.command("init", epilog=EPILOG)
@click.argument("framework", type=click.Choice(FRAMEWORKS))
@click.argument("folder", type=FOLDER, default=".")
def command(framework: str, folder: Path) -> None:
    """Write an agent with tools, tasks, tests and a CI job, to start from.

    The files go into FOLDER, the current one unless given. None that is there is replaced.
    """
    from trialbed_testing._starting import write_start

    for path in write_start(framework, folder):
        click.echo(path)
    place = "" if folder == Path() else f"cd {folder} && "
    click.echo(f"Next: {place}pip install -r requirements.txt && pytest")
    click.echo("In CI, first say in requirements.txt where Trialbed comes from: it is not on the package index yet.")
    click.echo("The tasks with another agent: bench run --dataset desk.py --framework reference")
