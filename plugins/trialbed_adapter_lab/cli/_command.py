"""``bench adapter`` and ``bench plugin``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from trialbed.cli.env import env_dir_option, yes_option
from trialbed.cli.formats import chosen_format, format_option
from trialbed.cli.options import FOLDER, FiniteRange, json_option, plain_option, print_json

if TYPE_CHECKING:
    from trialbed_adapter_lab import Level

KINDS = ("scorer", "judge", "selector", "simulator", "model", "dataset", "executor")
"""The words for plugins."""

EPILOG = """\b
Examples:
  bench adapter new my-framework
  bench adapter check langgraph
  bench adapter check langgraph:controlled --quick
  bench adapter check --command 'node agent.mjs'
"""


PLUGIN_EPILOG = """\b
Examples:
  bench plugin check rule
  bench plugin check ./scorer.py
  bench plugin check ./judge.py:Mine
  bench plugin check llm --kind judge
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
def new(name: str, output: Path) -> None:
    """Start a package for an adapter.

    The package runs at once, with a placeholder for the framework. Its adapter uses the framework's defaults, as its
    documentation teaches. NAME is the name for --framework: lower-case letters, digits and dashes. The package is
    called trialbed-NAME.
    """
    import shlex

    from trialbed_adapter_lab.scaffolding import MARK, free_names, write_package

    names = free_names(name)
    write_package(names, output)
    folder = output / names.distribution
    steps = [
        f"pip install -e {shlex.quote(f'{folder}[test]')}",
        f"bench adapter check {name}",
        f"bench run --framework reference --framework {name}",
    ]
    shown = "\n  ".join([f"Created {folder}. It already runs:\n", *steps])
    click.echo(f"{shown}\n\nThen replace each {MARK} in the source with your own code.")


@command.command("check", epilog="Example: bench adapter check langgraph --level must")
@click.argument("name", required=False)
@plain_option(
    "--command", metavar="[NAME=]COMMAND", help="Check a program, started as by bench run, instead of an adapter."
)
@plain_option(
    "--check", "checks", multiple=True, metavar="CHECK", help="Run only this check, whatever its level; repeatable."
)
@plain_option(
    "--level",
    type=click.Choice(["must", "should", "may"]),
    default="may",
    show_default=True,
    help="Run only checks of this level and above.",
)
@plain_option("--quick", is_flag=True, help="Run only the quick checks that find most defects.")
@plain_option(
    "--fuzz",
    type=FiniteRange(min=1),
    metavar="SECONDS",
    help="Instead of the checks, play random conversations for this long; print the shortest failing one as a test.",
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

    The checks run in the environment of the adapter. A program, in any language, is checked only by what it sends and
    prints. NAME is a framework, NAME:PROFILE for one of its profiles (without one, native: its defaults), or
    NAME==VERSION for a release of it. A framework's own behaviour is a failure in the profile controlled only; in other
    profiles it is a finding. Exits with 1 if the adapter does not conform: a check fails that its deviations do not
    declare, or a check passes that they do declare.

    With --fuzz, hypothesis draws a model's turns, sizes, delays and mistakes. The adapter and the plain loop play each
    conversation, and one that breaks an invariant is shortened as far as possible. Exits with 1 if there is one and the
    profile is controlled; in other profiles it is a finding.
    """
    import asyncio

    from trialbed.cli.env import chosen_environments
    from trialbed.environments import expand_profiles
    from trialbed.errors import UsageError
    from trialbed.records import framework_driver
    from trialbed_adapter_lab.kit_process import (
        check_known,
        check_names,
        fuzz_adapter,
        junit_text,
        program_arguments,
        run_kit,
        show_report,
    )

    if name is not None and command is not None:
        raise UsageError("give either an adapter's name or --command, not both")
    if name is None and command is None:
        raise UsageError("name an adapter, or give a program by --command")
    form = chosen_format(form, as_json=as_json)
    others = {"--command": command, "--check": checks, "--quick": quick, "--known": known}
    others |= {"--level": level != "may", "--format junit": form == "junit"}
    if fuzz and (given := [option for option, value in others.items() if value]):
        raise UsageError(f"--fuzz draws its own conversations, for adapters only; leave out {', '.join(given)}")
    check_known(known)
    check_names(checks)
    environment, arguments = None, [argument for one in known for argument in ("--known", one)]
    if name is None:
        name, program = program_arguments(command or "")
        arguments += program
    else:
        environment = chosen_environments([name], yes=yes, env_dir=env_dir).get(name)
        expand_profiles([name], (), {name: environment} if environment else {})
    if fuzz:
        return fuzz_adapter(framework_driver(name), environment, fuzz, as_json=form == "json")
    if checks:
        # Also those that demand nothing.
        arguments += ["--level", "info", *(argument for wanted in checks for argument in ("--check", wanted))]
    else:
        arguments += ["--level", level, *["--quick"] * quick]
    report = asyncio.run(run_kit(name if command else framework_driver(name), environment, arguments))
    if form == "json":
        print_json(report.model_dump(mode="json") | {"badge": report.badge, "conformant": report.ok})
    elif form == "junit":
        click.echo(junit_text(report), nl=False)
    else:
        show_report(report)
    return 0 if report.ok else 1


@click.group("plugin", epilog=PLUGIN_EPILOG)
def plugin_command() -> None:
    """Check plugins against their contracts.

    `bench plugins` lists what is installed, and `bench adapter` is for adapters of frameworks.
    """


@plugin_command.command("check", epilog=PLUGIN_EPILOG)
@click.argument("name", metavar="NAME|FILE.py[:NAME]")
@plain_option("--kind", type=click.Choice(KINDS), help="Kind of plugin, if several have the name.")
@json_option
def check_plugin(name: str, kind: str | None, as_json: bool) -> int:
    """Check whether a plugin loads and fulfils its contract.

    NAME is an installed scorer, judge, selector, dataset, simulator, driver of models or executor, or one in a file:
    FILE.py for hooks, FILE.py:NAME for a class, or for a function or object that is a model. Methods and their
    parameters are compared with the contract, and a new instance must have what the contract demands at once, such as
    its names. The expected calls of a dataset are compared with its tools. Exits with 1 if the plugin does not fulfil
    its contract, and with 2 if there is none.
    """
    from dataclasses import asdict

    from trialbed_adapter_lab import plugin_check

    found = plugin_check.check_plugin(name, kind)
    if as_json:
        print_json(asdict(found) | {"conformant": not found.problem})
    elif found.problem:
        click.echo(f"{found.name} does not fulfil its contract: {found.problem}")
    else:
        click.echo(f"{found.name} ({found.distribution} {found.version}) fulfils the contract of {found.kind}")
    return 1 if found.problem else 0
