"""``bench init``: the files to start testing an agent from, or drafts of tasks for one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from trialbed.cli.options import FILE, FOLDER, option
from trialbed.cli.setting_options import setting_option
from trialbed.errors import UsageError

REQUIREMENTS: Mapping[str, tuple[str, ...]] = {
    "openai": ("openai",),
    "anthropic": ("anthropic",),
    "langgraph": ("langchain", "langchain-openai", "langgraph"),
    "crewai": ("crewai", "openai"),
    "autogen": ("autogen-agentchat", "autogen-ext[mcp,openai]"),
    "openai-agents": ("openai-agents",),
    "agno": ("agno", "openai"),
}
"""Maps frameworks to the packages that their agent imports."""

TRIALBED = (
    "# Trialbed is not on the package index yet: this line is met where its checkout is installed. Elsewhere, write",
    "# trialbed[pytest] @ git+https://github.com/OWNER/trialbed@COMMIT",
    "trialbed[pytest]",
)
"""The lines of ``requirements.txt`` for Trialbed itself."""

MODELS = ("scripted:gold", "scripted:retry", "scripted:parallel")
"""The models that test every agent."""

BAD_JSON = "scripted:bad-json"
"""Only for agents that parse arguments. Anthropic's API cannot carry such arguments, and LangChain stops at them."""

EPILOG = """\b
Examples:
  bench init openai
  bench init langgraph my-agent
  bench init --from agent.py:agent --query "How much did order 7 cost?" --model gpt-4o-mini
"""


@click.command("init", epilog=EPILOG)
@click.argument("framework", type=click.Choice(tuple(REQUIREMENTS)), required=False)
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


def write_start(framework: str, folder: Path) -> list[Path]:
    """Write the files for a framework into a folder and return their paths.

    Raises:
        UsageError: a file exists already or cannot be written.
    """
    from trialbed.files import replace_file

    texts = {
        folder / "agent.py": _template(f"{framework}.py"),
        folder / "desk.py": _template("desk.py"),
        folder / "test_agent.py": _template("test_agent.py").replace("{{ models }}", _models(framework)),
        folder / "pytest.ini": _template("pytest.ini"),
        folder / "requirements.txt": "\n".join([*REQUIREMENTS[framework], *TRIALBED]) + "\n",
        folder / ".github" / "workflows" / "agent.yml": _template("workflow.yml"),
    }
    for path in texts:
        if path.exists():
            raise UsageError(f"{path} already exists: name another folder, or remove it")
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, text.encode())
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"{folder.absolute()} cannot be written: {reason}; name another folder") from error
    return list(texts)


def _models(framework: str) -> str:
    names = (*MODELS, BAD_JSON) if framework == "openai" else MODELS
    return ", ".join(f'"{name}"' for name in names)


def _template(name: str) -> str:
    from importlib.resources import files

    return (files("trialbed_testing") / "templates" / f"{name}.jinja").read_text(encoding="utf-8")
