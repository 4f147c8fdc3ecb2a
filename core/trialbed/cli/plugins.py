"""The command ``bench plugins``."""

from __future__ import annotations

from dataclasses import asdict

import click

from trialbed.cli.formats import print_list
from trialbed.cli.options import json_option, print_json

EPILOG = """\b
Examples:
  bench plugins
  bench plugins --json
"""


@click.command("plugins", epilog=EPILOG)
@json_option
def command(as_json: bool) -> None:
    """List installed drivers, commands and plugins, and why broken ones fail.

    Loads each of them. Those that cannot be loaded are listed with their distribution and the cause.
    """
    from trialbed.cli._inventory import inventory

    items = inventory()
    if as_json:
        print_json([asdict(item) for item in items])
        return
    print_list(("kind", "name", "distribution", "state"), [item.as_row() for item in items])
    for item in items:
        if item.problem:
            # Not in the table, where a long text would stand in a narrow column.
            click.echo(f"\nbroken: {item.problem}")
