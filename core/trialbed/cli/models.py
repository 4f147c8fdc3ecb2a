"""The command ``bench models``."""

from __future__ import annotations

import click

from trialbed.cli.formats import print_list
from trialbed.cli.options import json_option, print_json
from trialbed.cli.setting_options import api_key_env_option, base_url_option

EPILOG = """\b
Examples:
  bench models
  bench models --base-url http://localhost:11434/v1
  bench models --json
"""

COSTS = {True: "yes", False: "no", None: "not known"}


@click.command("models", epilog=EPILOG)
@base_url_option
@api_key_env_option
@json_option
def command(base_url: str | None, api_key_env: str, as_json: bool) -> None:
    """List the models that bench run --model takes.

    The list has the models of installed drivers and, with --base-url, of an endpoint. A model in a file is called
    FILE.py:NAME and is not listed.
    """
    from pathlib import Path

    from trialbed.models import list_models, listing_advice
    from trialbed.settings import RunSettings, read_env_file

    read_env_file(Path.cwd())
    found = list(list_models(RunSettings(base_url=base_url, api_key_env=api_key_env)))
    if as_json:
        kept = ("identity", "deterministic", "costs", "needs")
        print_json([{"model": name, **{key: getattr(info, key) for key in kept}} for name, info in found])
        return
    for advice in listing_advice():
        click.echo(advice, err=True)
    rows = ((name, COSTS[info.deterministic], COSTS[info.costs], info.needs or "nothing") for name, info in found)
    print_list(("model", "deterministic", "costs money", "needs"), rows)
