"""The command ``bench doctor``."""

from __future__ import annotations

import click

from trialbed.cli.options import json_option, plain_option, print_json

EPILOG = """\b
Examples:
  bench doctor
  bench doctor --json
  bench doctor --store
  bench doctor --store postgresql+psycopg://USER@HOST/NAME
"""


@click.command("doctor", epilog=EPILOG)
@plain_option(
    "--store",
    is_flag=False,
    flag_value="",
    metavar="[FILE|URL]",
    help="Look at every record of a store for damage instead. [default: .trialbed/trialbed.db]",
)
@json_option
def command(store: str | None, as_json: bool) -> int:
    """Check the installation, and show how to get missing parts.

    Exits with 1 if something installed is broken. Things that are merely missing (an adapter, a key) are listed with
    the command that installs or sets them.

    With --store, look at every record, body and reference of a store instead, and exit with 1 if one is damaged.
    """
    if store is not None:
        from trialbed.cli.doctor._store import show_store

        return show_store(store or None, as_json=as_json)
    from trialbed.cli.doctor._checks import checks

    found = list(checks())
    if as_json:
        print_json([check.as_json() for check in found])
    else:
        for check in found:
            click.echo(f"{click.style(check.mark, fg=check.colour)} {check.subject}: {check.finding}")
            if check.remedy:
                click.echo(f"     {check.remedy}")
    return 1 if any(check.mark == "bad " for check in found) else 0
