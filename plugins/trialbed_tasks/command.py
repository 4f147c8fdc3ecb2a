"""``bench tasks``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trialbed.cli.options import json_option
from trialbed.cli.setting_options import data_dir_option

if TYPE_CHECKING:
    from trialbed_tasks._checking import TaskFinding

EPILOG = """\b
Examples:
  bench tasks check desk.yaml
  bench tasks schema > tasks.schema.json
"""


@click.group("tasks", epilog=EPILOG)
def command() -> None:
    """Check files of tasks, and print the schema that editors use for them."""


@command.command("check", epilog="Example: bench tasks check desk.yaml")
@click.argument("file")
@data_dir_option
@json_option
def check(file: str, data_dir: Path | None, as_json: bool) -> None:
    """Find tasks that cannot be solved, or that solve themselves.

    FILE is a file of tasks, or the name of a dataset. Each task is played by the scripted model that knows the expected
    calls, and by one that calls nothing. Exit code 1 if there are findings.
    """
    from trialbed_tasks._checking import check_tasks

    count, findings = check_tasks(file, data_dir)
    if as_json:
        click.echo(json.dumps([finding._asdict() for finding in findings], indent=2))
    else:
        _print(file, count, findings)
    if findings:
        raise click.exceptions.Exit(1)


@command.command("schema", epilog="Example: bench tasks schema > tasks.schema.json")
def schema() -> None:
    """Print the JSON Schema of files of tasks, for editors."""
    from trialbed_tasks.forms import file_schema

    click.echo(json.dumps(file_schema(), indent=2))


def _print(file: str, count: int, findings: list[TaskFinding]) -> None:
    for finding in findings:
        click.echo(f"task {finding.task}: {finding.problem}")
    wrong = len({finding.task for finding in findings})
    click.echo(f"{file}: {count} tasks, " + (f"{wrong} of them with findings" if wrong else "no findings"))
