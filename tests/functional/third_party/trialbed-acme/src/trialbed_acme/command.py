"""A command of Acme's."""

from __future__ import annotations

import click


@click.command("acme-hello")
def command() -> None:
    """Greet from another distribution."""
    click.echo("Hello from Acme")
