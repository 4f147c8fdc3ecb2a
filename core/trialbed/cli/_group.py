"""The root group, which loads a command's module when the command is asked for."""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = {
    "adapter": "Start, check and list adapters of frameworks.",
    "compare": "Compare vendors' results with those of a baseline.",
    "data": "List, import and show datasets.",
    "doctor": "Check what is installed, what is missing and how to get it.",
    "env": "Build, list, lock and remove environments of frameworks.",
    "fidelity": "Measure what frameworks do to the traffic between model and tools.",
    "plugins": "List installed drivers and plugins, broken ones with the reason.",
    "rank": "Rank vendors by Inverse Rank Fusion over six metrics.",
    "run": "Run trials and report how well frameworks use tools.",
    "serve": "Run the virtual API and the gateway alone.",
    "verify": "Verify how well vendors' endpoints call tools.",
}
"""Built-in command -> what it does, for ``bench --help``."""


class LazyGroup(click.Group):
    """A group whose built-in commands are modules of ``trialbed.cli`` and whose others come from plugins."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click gives it
        """Every command's name, sorted."""
        self._add_plugins()
        return sorted({*COMMANDS, *self.commands})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click gives it
        """The command of this name."""
        if cmd_name in COMMANDS:
            command: click.Command = import_module(f"trialbed.cli.{cmd_name}").command
            return command
        if cmd_name not in self.commands:
            self._add_plugins()
        return self.commands.get(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is asked for; of a wrong name, what it may have been meant to be."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            close = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not close:
                raise
            raise click.UsageError(f"No such command {args[0]!r}. Did you mean {close[0]!r}?", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without loading the built-in ones."""
        rows = [
            (name, COMMANDS.get(name) or self.commands[name].get_short_help_str(90)) for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _add_plugins(self) -> None:
        from trialbed.cli._plugin_commands import add_plugin_commands

        add_plugin_commands(self)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="trialbed", prog_name="bench")
def cli() -> None:
    """Measure, at the wire, how well agent frameworks and model vendors use tools.

    `bench run` alone compares nothing but needs nothing: the reference loop on the embedded dataset with a
    scripted model, no key, no network. See `bench COMMAND --help` for examples.
    """
