"""``bench plugin``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from trialbed.cli.options import FOLDER, json_option, plain_option, print_json

KINDS = ("scorer", "judge", "selector", "dataset", "simulator", "model", "executor")

EPILOG = """\b
Examples:
  bench plugin check rule
  bench plugin check ./scorer.py
  bench plugin check ./judge.py:Mine
  bench plugin check llm --kind judge
  bench plugin new scorer my-scores
"""


@click.group("plugin", epilog=EPILOG)
def command() -> None:
    """Start plugins, and check them against their contracts.

    `bench plugins` lists what is installed, and `bench adapter` is for adapters of frameworks.
    """


@command.command("new", epilog="Example: bench plugin new judge strict")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("name")
@plain_option(
    "--output",
    type=FOLDER,
    default=Path(),
    help="Folder in which to create the package's folder. [default: the working directory]",
)
@json_option
def new(kind: str, name: str, output: Path, as_json: bool) -> None:
    """Start a package for a plugin of a kind.

    The package works as it is, with tests, a tox.ini for the newest and the oldest releases, and a workflow for CI.
    NAME is the plugin's: lower-case letters, digits and dashes. The package is called trialbed-NAME.
    """
    from trialbed_adapter_lab.scaffolding import MARK, plugin_steps, write_plugin

    files = write_plugin(kind, name, output)
    folder = output / files[0].parts[0]
    steps = plugin_steps(kind, name, folder)
    if as_json:
        print_json({"folder": str(folder), "files": [str(output / file) for file in files], "next": steps})
        return
    click.echo("\n  ".join([f"Created {folder}. It works as it is:\n", *steps]))
    click.echo(f"\nThen put in your own code wherever the source says {MARK}.")


@command.command("check", epilog=EPILOG)
@click.argument("name", metavar="NAME|FILE.py[:NAME]")
@plain_option("--kind", type=click.Choice(KINDS), help="Kind of plugin, if several have the name.")
@json_option
def check(name: str, kind: str | None, as_json: bool) -> int:
    """Check whether a plugin loads and fulfils its contract.

    NAME is an installed scorer, judge, selector, dataset, simulator, driver of models or executor, or one in a file:
    FILE.py for hooks, FILE.py:NAME for a class, or for a function or object that is a model. Methods and their
    parameters are compared with the contract, and a new instance is asked for what the contract demands at once, such
    as its names. The expected calls of a dataset are compared with its Apis.
    Exits with 1 if the plugin does not fulfil its contract, and with 2 if there is none.
    """
    from trialbed_adapter_lab.plugin_check import check_plugin

    found = check_plugin(name, kind)
    if as_json:
        print_json(asdict(found) | {"conformant": not found.problem})
    elif found.problem:
        click.echo(f"{found.name} does not fulfil its contract: {found.problem}")
    else:
        click.echo(f"{found.name} ({found.distribution} {found.version}) fulfils the contract of {found.kind}")
    return 1 if found.problem else 0
