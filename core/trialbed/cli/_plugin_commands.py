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
    for name, plugin in sorted(manager.list_name_plugin()):
        others = [other for _, other in manager.list_name_plugin() if other is not plugin]
        try:
            manager.subset_hook_caller("trialbed_register_commands", others)(cli=group)
        except Exception as error:  # noqa: BLE001 - a plugin is foreign code: its fault must not be the command line's
            click.echo(f"Warning: plugin {name!r} cannot add its commands: {type(error).__name__}: {error}", err=True)
