"""``bench init``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from trialbed.cli.options import FILE, FOLDER, option
from trialbed.cli.setting_options import setting_option

FRAMEWORKS = ("openai", "anthropic", "langgraph", "crewai", "autogen", "openai-agents", "agno")

EPILOG = """\b
Examples:
  bench init openai
  bench init langgraph my-agent
  bench init --from agent.py:agent --query "How much did order 7 cost?" --model gpt-4o-mini
"""


@click.command("init", epilog=EPILOG)
@click.argument("framework", type=click.Choice(FRAMEWORKS), required=False)
@click.argument("folder", type=FOLDER, default=".")
@option(
    "--from",
    "agent",
    metavar="FILE.py[:NAME]|COMMAND",
    help="Draft tasks from what this agent, with its own tools, does on --query.",
)
@option("--query", metavar="TEXT", help="The question to ask the agent of --from, once.")
@option("-o", "--output", type=FILE, default="tasks.yaml", help="File to write, which must not exist.")
@setting_option("model")
@setting_option("base_url")
@setting_option("api_key_env")
@setting_option("model_name")
def command(
    framework: str | None, folder: Path, agent: str | None, query: str | None, output: Path, **settings: Any
) -> None:
    """Write an agent with tools, tasks, tests and a CI job, or draft tasks for yours.

    The files go into FOLDER, by default the current one; existing files are not replaced. With --from, the agent runs
    once, and the file has the question, its calls, its answer, and the names of all tools.
    """
    if (framework is None) == (agent is None) or (agent is None) != (query is None):
        raise click.UsageError("give a FRAMEWORK to start from, or --from AGENT and --query TEXT for an agent of yours")
    if agent is not None and query is not None:
        _draft(agent, query, output, {name: value for name, value in settings.items() if value})
    elif framework is not None:
        _write(framework, folder)


def _write(framework: str, folder: Path) -> None:
    from trialbed_testing._starting import write_start

    for path in write_start(framework, folder):
        click.echo(path)
    place = "" if folder == Path() else f"cd {folder} && "
    click.echo(f"Next: {place}pip install -r requirements.txt && pytest")
    click.echo("In CI, first say in requirements.txt where Trialbed comes from: it is not on the package index yet.")
    click.echo("To run the tasks with another agent: bench run --dataset desk.py --framework reference")


def _draft(agent: str, query: str, output: Path, settings: dict[str, Any]) -> None:
    from trialbed.files import write_text
    from trialbed.views import printable
    from trialbed_tasks.drafting import SCRIPTED, check_target, draft_trial

    check_target(output)
    write_text(output, draft_trial(agent, query, **settings).text, "-o")
    if settings["model"][0].startswith(SCRIPTED):
        click.echo("A scripted model does not choose calls, so the file has only the names of the tools.")
        click.echo("To draft the calls too, name another model: --model NAME --base-url URL")
    program = f"python {agent}" if agent.endswith(".py") else agent
    named = f"--framework {agent}" if ".py:" in agent else f"--command {shlex.quote(program)}"
    told = f" --model-name {name}" if (name := settings.get("model_name")) else ""
    click.echo(printable(f"{output}: read it, then: bench run {named} --dataset {output}{told}"))
