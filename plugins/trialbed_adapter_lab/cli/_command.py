"""``bench adapter``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.environments import env_dir_option, yes_option
from trialbed.cli.formats import chosen_format, format_option
from trialbed.cli.options import FOLDER, FiniteRange, json_option, plain_option, print_json

if TYPE_CHECKING:
    from trialbed_adapter_lab import Level
    from trialbed_adapter_lab.scaffolding import AdapterNames

EPILOG = """\b
Examples:
  bench adapter new my-framework
  bench adapter check langgraph
  bench adapter check langgraph:controlled --quick
  bench adapter check --command 'node agent.mjs'
"""


@click.group("adapter", epilog=EPILOG)
def command() -> None:
    """Start and check adapters of frameworks; `bench doctor` lists them."""


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
@click.argument("name", required=False)
@plain_option(
    "--command", metavar="[NAME=]COMMAND", help="Check a program in place of an adapter, as bench run starts it."
)
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
    type=FiniteRange(min=1),
    metavar="SECONDS",
    help="Instead of the checks, draw conversations for this long, and print the shortest that breaks something as a "
    "test.",
)
@plain_option(
    "--known",
    multiple=True,
    metavar="CHECK=REASON",
    help="Declare a limitation, as an adapter's deviations do; repeatable.",
)
@yes_option
@env_dir_option
@format_option("table", "json", "junit")
@json_option
def check(
    name: str | None,
    command: str | None,
    checks: tuple[str, ...],
    level: Level,
    quick: bool,
    fuzz: float | None,
    known: tuple[str, ...],
    yes: bool,
    env_dir: Path | None,
    form: str | None,
    as_json: bool,
) -> int:
    """Check whether an adapter conforms to the contract.

    The checks run where the adapter is installed; those of a program, in any language, see only what it sends and
    prints.
    NAME is a framework, NAME:PROFILE for one of its profiles (native unless you name one), or NAME==VERSION for a
    release of it. A framework's own behaviour is a failure of the profile controlled alone; of any other adapter
    it is a finding. Exits with 1 if the adapter does not conform: a check fails that its deviations do not declare, or
    a check passes that they do declare.

    With --fuzz, a model's turns, sizes, delays and mistakes are drawn with hypothesis, each conversation is played with
    the adapter and with the reference loop, and one that breaks an invariant is made as short as it can be. Exits
    with 1 if there is one and the profile is controlled; for others it is a finding.
    """
    import asyncio

    from trialbed.cli.environments import chosen_environments
    from trialbed.environments import expand_profiles
    from trialbed.errors import UsageError
    from trialbed.records import framework_driver, framework_profile
    from trialbed_adapter_lab.cli._runner import check_known, choose, junit_text, program_arguments, show_report
    from trialbed_adapter_lab.kit_process import run_kit

    if name is not None and command is not None:
        raise UsageError("give either an adapter's name or --command, not both")
    if name is None and command is None:
        raise UsageError("name an adapter, or give a program by --command")
    form = chosen_format(form, as_json=as_json)
    others = {"--command": command, "--check": checks, "--quick": quick, "--known": known}
    others |= {"--level": level != "may", "--format junit": form == "junit"}
    if fuzz and (given := [option for option, value in others.items() if value]):
        raise UsageError(f"--fuzz draws conversations of its own, for adapters; leave out {', '.join(given)}")
    check_known(known)
    environment, arguments = None, [argument for one in known for argument in ("--known", one)]
    if name is None:
        name, program = program_arguments(command or "")
        arguments += program
        choose(checks, level, None)
    else:
        choose(checks, level, framework_profile(name))
        environment = chosen_environments([name], yes=yes, env_dir=env_dir).get(name)
        expand_profiles([name], (), {name: environment} if environment else {})
    if fuzz:
        from trialbed_adapter_lab.cli._fuzz import fuzz as search

        return search(framework_driver(name), environment, fuzz, as_json=form == "json")
    arguments += [argument for wanted in checks for argument in ("--check", wanted)]
    label = name if command else framework_driver(name)
    # What demands nothing is run if it is named.
    shown = "info" if checks and level == "may" else level
    report = asyncio.run(run_kit(label, environment, [*arguments, "--level", shown, *["--quick"] * quick]))
    if form == "json":
        print_json(report.model_dump(mode="json") | {"badge": report.badge, "conformant": report.ok})
    elif form == "junit":
        click.echo(junit_text(report), nl=False)
    else:
        show_report(report)
    return 0 if report.ok else 1


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
    named = {field: getattr(names, field) for field in ("framework", "distribution", "module", "agent_class")}
    return named | {"folder": str(output / names.distribution), "files": [str(output / file) for file in files]}
