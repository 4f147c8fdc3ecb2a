"""The command ``bench plugins``, and the drivers and plugins that can be loaded."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import click

from trialbed.cli._group import COMMANDS, load_command
from trialbed.cli.formats import print_list
from trialbed.cli.options import json_option, print_json
from trialbed.contracts import AGENT_CONTRACT, MODEL_CONTRACT, VENDOR_CONTRACT
from trialbed.drivers import GROUPS, DriverInfo, list_drivers, load_driver
from trialbed.errors import DriverError
from trialbed.installed import PLUGIN_GROUP, offers
from trialbed.plugins import empty_manager, register

VERSIONS = {
    "frameworks": AGENT_CONTRACT,
    "models": MODEL_CONTRACT,
    "vendors": VENDOR_CONTRACT,
    "model_adapters": VENDOR_CONTRACT,
}
"""Kind of driver -> the version of its contract that it states, where it states one."""


@dataclass(frozen=True)
class Item:
    """A driver or plugin; ``problem`` is empty if it can be loaded."""

    kind: str
    name: str
    distribution: str
    version: str
    problem: str = ""

    def as_row(self) -> tuple[str, str, str, str]:
        """Return it for the table."""
        return self.kind, self.name, f"{self.distribution} {self.version}", "broken" if self.problem else "ok"


def inventory() -> list[Item]:
    """Load all drivers and plugins: the drivers by kind and name, then the plugins."""
    kinds = [kind for kind in GROUPS if kind != "components"]
    return [_driver(info) for kind in kinds for info in list_drivers(kind)] + _plugins()


def _driver(info: DriverInfo) -> Item:
    return Item(info.kind, info.name, info.distribution, info.version, _problem(info))


def _problem(info: DriverInfo) -> str:
    if info.kind == "commands" and info.name in COMMANDS:
        return f"never used: `bench {info.name}` is a command of trialbed itself"
    try:
        if info.kind == "commands":
            load_command(info.name)
        else:
            load_driver(info.kind, info.name, VERSIONS.get(info.kind, ""))
    except DriverError as error:
        return str(error)
    return ""


def _plugins() -> list[Item]:
    items = []
    manager = empty_manager()
    for offer in sorted(offers(PLUGIN_GROUP), key=lambda offer: offer.name):
        problem = ""
        try:
            register(manager, offer)
        except DriverError as error:
            problem = str(error)
        items.append(Item("plugins", offer.name, offer.distribution, offer.version, problem))
    return items


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
    from trialbed.cli.plugins import inventory

    items = inventory()
    if as_json:
        print_json([asdict(item) for item in items])
        return
    print_list(("kind", "name", "distribution", "state"), [item.as_row() for item in items])
    for item in items:
        if item.problem:
            # Not in the table, where a long text would stand in a narrow column.
            click.echo(f"\nbroken: {item.problem}")
