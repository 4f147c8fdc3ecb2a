"""The root group, which loads a command's module when the command is asked for.

Core's own commands are modules of ``trialbed.cli``. Every other command, of the products that come with Trialbed as of
third parties, is an entry point of the group ``trialbed.commands``: the command's name, and the ``click.Command``.
"""

from __future__ import annotations

import io
import sys
from importlib import import_module
from typing import Any

import click

from trialbed.installed import offers

COMMANDS = frozenset(("compare", "demo", "doctor", "env", "models", "plugins", "run", "runs", "show"))
"""Core's own commands, which are modules of this package."""

SECTIONS = {
    "Run and compare": {
        "demo": "Show what LangGraph's defaults do with thirty tasks if the model writes broken JSON.",
        "run": "Run trials and report how well frameworks use tools.",
        "show": "Show a run, or one of its trials as the wire saw it.",
        "compare": "Compare runs, or result files of vendors, with intervals.",
        "view": "Look at runs in a browser, down to each trial.",
        "report": "Write a page about a run for a decision: a conclusion and three examples.",
        "runs": "List the runs in the store, newest first.",
        "plan": "Estimate how many tasks or cases you need for a verdict, from a pilot.",
    },
    "Frameworks": {
        "adapter": "Start and check adapters of frameworks; `bench doctor` lists them.",
        "env": "Build, list, lock and remove environments of frameworks.",
        "fidelity": "Measure how frameworks change the traffic between model and tools.",
        "releases": "Show how a framework changes over its releases.",
    },
    "Vendors": {
        "verify": "Verify how well vendors' endpoints call tools.",
        "rank": "Rank vendors by Inverse Rank Fusion over six metrics.",
        "faults": "List the faults that bench serve --faults plays.",
    },
    "Data, scores and judges": {
        "data": "List, import and show datasets; import cached answers.",
        "init": "Write an agent with tools, tasks, tests and a CI job, or draft tasks for yours.",
        "tools": "Import tools from an API, a server or a program.",
        "tasks": "Check and draft files of tasks, and print their schema for editors.",
        "score": "Score recorded conversations, or a stored run again.",
        "judge": "Calibrate judges against labelled cases.",
        "select": "Measure how many of the right tools a selector finds, before any agent runs.",
        "record": "Write the answers of a run's model to a file.",
        "replay": "Show which trials follow a recording, and where others depart from it.",
        "export": "Write the trials of a run for other programs.",
        "publish": "Write finished runs as a folder that others can read and check.",
        "reproduce": "Regenerate every number, table and figure of published results.",
    },
    "The installation": {
        "doctor": "Check the installation, and show how to get missing parts.",
        "models": "List the models that bench run --model takes.",
        "plugin": "Check plugins against their contracts.",
        "plugins": "List installed drivers, commands and plugins, and why broken ones fail.",
        "serve": "Run the virtual API and the gateway alone.",
    },
}
"""The commands that come with Trialbed, with their descriptions, in the order of the help. Others are of plugins."""


class LazyGroup(click.Group):
    """The root of all commands. A command's module is imported when the command, or the help on all, is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click gives it
        """Return every command's name, sorted."""
        return sorted({*COMMANDS, *_added(), *self.commands})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click gives it
        """Return the command of this name.

        Raises:
            DriverError: the distribution that offers it cannot be loaded, or several offer it.
        """
        if cmd_name in COMMANDS:
            command: click.Command = import_module(f"trialbed.cli.{cmd_name}").command
            return command
        return load_command(cmd_name) if cmd_name in _added() else self.commands.get(cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that is asked for."""
        try:
            return super().invoke(ctx)
        except (BrokenPipeError, SystemExit) as error:
            # rich ends the program itself if a table cannot be written.
            if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
                raise
            # click would end with 1, as rich does, which says that a check failed. The rest has no reader.
            sys.stdout = io.StringIO()
            raise click.exceptions.Exit(3) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is asked for; suggest one for a wrong name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from trialbed.suggestions import closest

            close = closest(args[0], self.list_commands(ctx))
            if close is None:
                raise
            raise click.UsageError(f"No such command {args[0]!r}. Did you mean {close!r}?", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands; only commands of third-party plugins are imported."""
        left = self.list_commands(ctx)
        sections = {title: {name: names[name] for name in names if name in left} for title, names in SECTIONS.items()}
        listed = {name for names in sections.values() for name in names}
        sections["Commands of plugins"] = {name: self._summary(ctx, name) for name in left if name not in listed}
        width = max(map(len, left))
        for title, names in sections.items():
            rows = [(f"{name:<{width}}", summary) for name, summary in names.items()]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def _summary(self, ctx: click.Context, name: str) -> str:
        from trialbed.errors import DriverError

        try:
            command = self.get_command(ctx, name)
        except DriverError as error:
            click.echo(f"Warning: {error}", err=True)
            return "(cannot be loaded)"
        return command.get_short_help_str(90) if command else ""


def _added() -> set[str]:
    return {offer.name for offer in offers("commands")}


def load_command(name: str) -> click.Command:
    """Load the command of an entry point.

    Raises:
        DriverError: the distribution that offers it cannot be loaded, or several offer it.
    """
    from trialbed.drivers import broken_message, driver_info, load_entry
    from trialbed.errors import DriverBroken

    info = driver_info("commands", name)
    command = load_entry(info)
    if not isinstance(command, click.Command):
        wrong = TypeError(f"it is {type(command).__name__}, not click.Command")
        raise DriverBroken(broken_message(info, wrong))
    return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="trialbed", prog_name="bench")
def cli() -> None:
    """Measure how well agent frameworks and model vendors use tools.

    Start with `bench demo`, which needs no key. See `bench COMMAND --help` for examples.
    """
