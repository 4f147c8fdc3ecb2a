"""``bench adapter``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.environments import env_dir_option, yes_option
from trialbed.cli.options import FOLDER, json_option, plain_option, print_json

if TYPE_CHECKING:
    from trialbed_adapter_lab import Level
    from trialbed_adapter_lab.scaffolding import AdapterNames

EPILOG = """\b
Examples:
  bench adapter new my-framework
  bench adapter check langgraph
  bench adapter check langgraph:controlled --quick
  bench adapter list
"""


@click.group("adapter", epilog=EPILOG)
def command() -> None:
    """Start, check and list adapters of frameworks."""


@command.command("new", epilog="Example: bench adapter new my-framework")
@click.argument("name")
@plain_option(
    "--output",
    type=FOLDER,
    default=Path(),
    help="Folder in which to create the package's folder. [default: the working directory]",
)
@json_option
def new(name: str, output: Path, as_json: bool) -> None:
    """Start a package for an adapter.

    The package works as it is, with a placeholder for the framework. Its adapter is a native one: it runs the framework
    as the framework's documentation teaches it.
    NAME is the name for --framework: lower-case letters, digits and dashes. The package is called trialbed-NAME.
    """
    from trialbed_adapter_lab.scaffolding import MARK, write_package

    names = _free_names(name)
    files = write_package(names, output)
    steps = _next_steps(names, output)
    if as_json:
        print_json(_describe(names, output, files) | {"next": steps})
        return
    made = f"Created {output / names.distribution}. It works as it is, with a placeholder for the framework:\n"
    click.echo("\n  ".join([made, *steps]))
    click.echo(f"\nThen put in your framework wherever src/{names.module}/_agent.py says {MARK}.")


@command.command("check", epilog="Example: bench adapter check langgraph --level must")
@click.argument("name")
@plain_option(
    "--check",
    "checks",
    multiple=True,
    metavar="CHECK",
    help="Run only this check; repeatable.",
)
@plain_option(
    "--level",
    type=click.Choice(["must", "should", "may"]),
    default="may",
    show_default=True,
    help="Run only checks of this level and above.",
)
@plain_option(
    "--quick", is_flag=True, help="Run only the checks that need little time and find most defects: for while you work."
)
@plain_option(
    "--fuzz",
    type=click.FloatRange(min=1),
    metavar="SECONDS",
    help="Instead of the checks, draw conversations for this long, and print the shortest that breaks something as a "
    "test.",
)
@yes_option
@env_dir_option
@json_option
def check(
    name: str,
    checks: tuple[str, ...],
    level: Level,
    quick: bool,
    fuzz: float | None,
    yes: bool,
    env_dir: Path | None,
    as_json: bool,
) -> int:
    """Check whether an adapter conforms to the contract.

    The checks run where the adapter is installed.
    NAME is a framework, NAME:PROFILE for one of its profiles (native unless you name one), or NAME==VERSION for a
    release of it. A framework's own behaviour is a failure of the profile controlled alone; of any other adapter
    it is a finding. Exits with 1 if the adapter does not conform: a check fails that its deviations do not declare, or
    a check passes that they do declare.

    With --fuzz, a model's turns, sizes, delays and mistakes are drawn with hypothesis, each conversation is played with
    the adapter and with the reference loop, and one that breaks an invariant is made as short as it can be. Exits
    with 1 if there is one and the profile is controlled; for others it is a finding.
    """
    from trialbed.cli.environments import chosen_environments
    from trialbed.environments import expand_profiles
    from trialbed.errors import UsageError
    from trialbed.records import framework_driver, framework_profile
    from trialbed_adapter_lab.cli._runner import choose, run_kit, show_report

    if fuzz and (checks or quick):
        raise UsageError("--fuzz draws conversations of its own; leave out --check and --quick")
    choose(checks, level, framework_profile(name))
    environment = chosen_environments([name], yes=yes, env_dir=env_dir).get(name)
    expand_profiles([name], (), {name: environment} if environment else {})
    if fuzz:
        from trialbed_adapter_lab.cli._fuzz import fuzz as search

        return search(framework_driver(name), environment, fuzz, as_json=as_json)
    chosen = [argument for wanted in checks for argument in ("--check", wanted)]
    report = run_kit(framework_driver(name), environment, [*chosen, "--level", level, *["--quick"] * quick])
    if as_json:
        print_json(report.model_dump(mode="json") | {"badge": report.badge, "conformant": report.ok})
    else:
        show_report(report)
    return 0 if report.ok else 1


@command.command("list", epilog="Example: bench adapter list")
@env_dir_option
@json_option
def list_(env_dir: Path | None, as_json: bool) -> None:
    """List frameworks, their profiles and where each is installed.

    A framework is installed here or in its own environment; for others, the command that installs it is shown.
    Environments that a run from here would not use are listed by `bench env list` alone.
    No adapter is loaded: `bench adapter check` shows how a framework deviates from the contract.
    """
    from trialbed.cli.environments import environment_store
    from trialbed_adapter_lab.cli._places import places

    found = places(environment_store(env_dir))
    if as_json:
        print_json([asdict(place) for place in found])
        return
    _print_table([place.as_row() for place in found])
    # Not in a cell, which a narrow terminal would break: it is there to be copied.
    absent = [place for place in found if place.where == "absent"]
    if absent:
        name, which = (absent[0].framework,) * 2 if len(absent) == 1 else ("NAME", "a framework that is missing")
        click.echo(f"install {which}: bench env add {name}")


def _free_names(name: str) -> AdapterNames:
    """Return the names for a framework that no installed or known adapter has."""
    from trialbed.drivers import list_drivers
    from trialbed.environments import FIRST_PARTY
    from trialbed.errors import UsageError
    from trialbed.records import framework_name
    from trialbed_adapter_lab.scaffolding import adapter_names

    names = adapter_names(name)
    owners = {framework_name(driver.name): driver.distribution for driver in list_drivers("frameworks")}
    owner = owners.get(name) or (names.distribution if name in FIRST_PARTY else None)
    if owner is not None:
        raise UsageError(f"{owner} already provides a framework {name!r}; choose another name")
    return names


def _next_steps(names: AdapterNames, output: Path) -> list[str]:
    import shlex

    return [
        f"pip install -e {shlex.quote(f'{output / names.distribution}[test]')}",
        f"bench adapter check {names.framework}",
        f"bench run --framework reference --framework {names.framework}",
    ]


def _describe(names: AdapterNames, output: Path, files: list[Path]) -> dict[str, Any]:
    return {
        "framework": names.framework,
        "distribution": names.distribution,
        "module": names.module,
        "agent_class": names.agent_class,
        "folder": str(output / names.distribution),
        "files": [str(output / file) for file in files],
    }


def _print_table(rows: Iterable[Sequence[str]]) -> None:
    """Print as many columns as the terminal has room for: no name, which is there to be copied, is broken."""
    from trialbed.views import Table, print_tables

    table = Table.of("", ("framework", "profiles", "version", "adapter", "where"), rows)
    narrow = replace(table.without("adapter"), narrow=table.without("adapter", "profiles"))
    print_tables([replace(table, narrow=narrow)], sys.stdout)
