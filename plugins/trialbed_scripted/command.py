"""``bench faults``."""

from __future__ import annotations

import click

from trialbed.cli.formats import print_list
from trialbed.cli.options import json_option, print_json

EPILOG = """\b
Examples:
  bench faults list
  bench serve --port 0 --faults lmstudio-830
"""


@click.group("faults")
def command() -> None:
    """List the faults that bench serve --faults plays."""


@command.command("list", epilog=EPILOG)
@json_option
def list_faults(as_json: bool) -> None:
    """List the faults that bench serve --faults plays.

    Faults of the wire-fault atlas are named after a public bug report.
    """
    from trialbed_scripted.faults import FAULTS, atlas

    found = [(name, "", kind.text) for name, kind in FAULTS.items()]
    found += [(name, row["report"], row["says"]) for name, row in atlas().items()]
    if as_json:
        print_json([{"fault": name, "report": report or None, "says": says} for name, report, says in found])
        return
    print_list(("fault", "report", "what it does"), found)
