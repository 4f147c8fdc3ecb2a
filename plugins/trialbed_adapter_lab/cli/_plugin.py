"""``bench plugin``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.completion import completes
from trialbed.cli.options import FOLDER, json_option, plain_option, print_json

if TYPE_CHECKING:
    from trialbed_adapter_lab import ConformanceReport

KINDS = ("scorer", "judge", "selector", "dataset", "simulator", "model", "executor")

EPILOG = """\b
Examples:
  bench plugin check rule
  bench plugin check ./scorer.py
  bench plugin check ./judge.py:Mine
  bench plugin check llm --kind judge
  bench plugin new scorer my-scores
"""


def _check_names() -> list[str]:
    from trialbed_adapter_lab.plugin_kit import PLUGIN_CHECKS

    return [check.name for checks in PLUGIN_CHECKS.values() for check in checks]


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
    click.echo(f"Created {folder}. It works as it is:\n")
    for step in steps:
        click.echo(f"  {step}")
    click.echo(f"\nThen put in your own code wherever the source says {MARK}.")


@command.command("check", epilog=EPILOG)
@click.argument("name", metavar="NAME[:PART]|FILE.py[:NAME]")
@plain_option("--kind", type=click.Choice(KINDS), help="Kind of plugin, where several have the name.")
@plain_option(
    "--check",
    "checks",
    multiple=True,
    metavar="CHECK",
    help="Run only this check; repeatable.",
    shell_complete=completes(_check_names),
)
@json_option
def check(name: str, kind: str | None, checks: tuple[str, ...], as_json: bool) -> int:
    """Check whether a plugin does as its contract says.

    NAME is an installed scorer, judge, selector, dataset, simulator, driver of models or executor, or one in a file:
    FILE.py for hooks, FILE.py:NAME for a class. PART is the test set of a dataset, or a model. What is tried depends
    on the kind: wrong, empty, strange and long input, equal input twice, cancellation, state, results of every form.
    Exits with 1 if the plugin does not conform, and with 2 if there is none.
    """
    from trialbed.errors import DriverBroken
    from trialbed.plugin_files import FileMisfit
    from trialbed_adapter_lab.cli._runner import print_finding, show_report
    from trialbed_adapter_lab.plugin_kit import KINDS as ALL
    from trialbed_adapter_lab.plugin_kit import check_plugin, find_plugin, misfit_report

    kinds = [ALL[kind]] if kind else [*ALL.values()]
    try:
        subject = find_plugin(name, kinds, chosen=kind is not None)
    except (DriverBroken, FileMisfit) as error:
        report = misfit_report(name, str(error))
    else:
        report = check_plugin(subject, _known(checks, subject.kind), progress=print_finding)
    if as_json:
        print_json(_document(report))
    else:
        show_report(report)
    return 0 if report.ok else 1


def _document(report: ConformanceReport) -> dict[str, Any]:
    """Return the report as it is printed: a plugin is neither a framework nor an adapter."""
    return {
        "plugin": report.framework,
        "version": report.version,
        "distribution": report.adapter,
        "findings": [finding.model_dump(mode="json") for finding in report.findings],
        "badge": report.badge,
        "conformant": report.ok,
    }


def _known(names: tuple[str, ...], kind: str) -> tuple[str, ...]:
    from trialbed.errors import UsageError
    from trialbed.suggestions import closest, did_you_mean
    from trialbed_adapter_lab.plugin_kit import PLUGIN_CHECKS

    known = [check.name for check in PLUGIN_CHECKS[kind]]
    for name in names:
        if name not in known:
            close = did_you_mean(closest(name, known))
            raise UsageError(f"{name!r} is not a check of {kind}{close} They are {', '.join(known)}")
    return names
