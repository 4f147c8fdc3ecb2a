"""Commands that installed plugins add."""

from __future__ import annotations

import click

from trialbed.plugins import PROJECT_DISTRIBUTION, plugin_entry_points


def add_plugin_commands(group: click.Group) -> None:
    """Let every third-party plugin add its commands; a broken one is named on stderr and harms nothing else."""
    entries = [pair for pair in plugin_entry_points() if pair[0].name != PROJECT_DISTRIBUTION]
    if not entries:
        return
    from trialbed.errors import DriverBroken
    from trialbed.plugins import empty_manager, register

    manager = empty_manager()
    for distribution, entry in entries:
        try:
            register(manager, distribution, entry)
        except DriverBroken as error:
            click.echo(f"Warning: {error}", err=True)
    manager.hook.trialbed_register_commands(cli=group)
