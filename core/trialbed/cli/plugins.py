"""The command ``bench plugins``."""

from __future__ import annotations

from typing import Any

import click

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
        print_json([item.as_json() for item in items])
        return
    _print([item.as_row() for item in items])
    for item in items:
        if item.problem:
            # Not in the table, where a long text would stand in a narrow column.
            click.echo(f"\nbroken: {item.problem}")


def _print(rows: list[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("kind", "name", "distribution", "state"):
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console: Any = Console(highlight=False, markup=False, soft_wrap=False)
    console.print(table)
