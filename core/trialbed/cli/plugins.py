"""The command ``bench plugins``, and the drivers and plugins that can be loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial

import click

from trialbed.cli._group import COMMANDS, load_command
from trialbed.cli.formats import print_list
from trialbed.cli.options import json_option, print_json
from trialbed.contracts import AGENT_CONTRACT, MODEL_CONTRACT, VENDOR_CONTRACT
from trialbed.drivers import GROUPS, list_drivers, load_driver
from trialbed.errors import DriverError
from trialbed.installed import PLUGINS, Offer, offers
from trialbed.plugins import empty_manager, register

VERSIONS = {
    "frameworks": AGENT_CONTRACT,
    "models": MODEL_CONTRACT,
    "vendors": VENDOR_CONTRACT,
    "model_adapters": VENDOR_CONTRACT,
}
"""Kind of driver -> the version of its contract, if it states one."""


@dataclass(frozen=True)
class Item:
    """A driver or plugin; ``problem`` is empty if it can be loaded."""

    kind: str
    name: str
    distribution: str
    version: str
    problem: str


def inventory() -> list[Item]:
    """Load all drivers and plugins, and return the drivers by kind and name, then the plugins."""
    manager = empty_manager()
    kinds = [kind for kind in GROUPS if kind != "components"]
    found = [(info, partial(_load, info)) for kind in kinds for info in list_drivers(kind)]
    plugins = sorted(offers(PLUGINS), key=lambda offer: offer.name)
    found += [(offer, partial(register, manager, offer)) for offer in plugins]
    return [Item(one.kind, one.name, one.distribution, one.version, _problem(load)) for one, load in found]


def _load(info: Offer) -> None:
    if info.kind != "commands":
        load_driver(info.kind, info.name, VERSIONS.get(info.kind, ""))
    elif info.name in COMMANDS:
        raise DriverError(f"never used: `bench {info.name}` is a command of trialbed itself")
    else:
        load_command(info.name)


def _problem(load: Callable[[], None]) -> str:
    try:
        load()
    except DriverError as error:
        return str(error)
    return ""


EPILOG = """\b
Examples:
  bench plugins
  bench plugins --json
"""


@click.command("plugins", epilog=EPILOG)
@json_option
def command(as_json: bool) -> None:
    """List installed drivers, commands and plugins, and why broken ones fail.

    The command loads each one. If one fails to load, the list has its distribution and the cause.
    """
    items = inventory()
    if as_json:
        print_json([asdict(item) for item in items])
        return
    rows = [
        (item.kind, item.name, f"{item.distribution} {item.version}", "broken" if item.problem else "ok")
        for item in items
    ]
    print_list(("kind", "name", "distribution", "state"), rows)
    for item in items:
        if item.problem:
            # Not in the table, because a long text would stand in a narrow column.
            click.echo(f"\nbroken: {item.problem}")
