"""``bench tasks``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from trialbed.cli.options import FILE, json_option, option, print_json
from trialbed.cli.setting_options import data_dir_option

if TYPE_CHECKING:
    from trialbed_tasks.checking import TaskFinding

EPILOG = """\b
Examples:
  bench tasks check desk.yaml
  bench tasks draft --from traces.jsonl -o tasks.yaml
  bench tasks schema > tasks.schema.json
"""


@click.group("tasks", epilog=EPILOG)
def command() -> None:
    """Check and draft files of tasks, and print their schema for editors."""


@command.command("check", epilog="Example: bench tasks check desk.yaml")
@click.argument("file")
@option(
    "--mcp",
    multiple=True,
    metavar="COMMAND|URL",
    help="MCP server with more tools for the tasks, as in bench run; repeatable.",
)
@data_dir_option
@json_option
def check(file: str, mcp: tuple[str, ...], data_dir: Path | None, as_json: bool) -> None:
    """Find tasks that cannot be solved, or that solve themselves.

    FILE is a file of tasks, or the name of a dataset. Each task is played by the scripted model that knows the expected
    calls, and by one that calls nothing. The exit code is 1 if there are findings other than warnings.
    """
    from trialbed_tasks.checking import check_tasks

    count, findings = check_tasks(file, data_dir, mcp)
    if as_json:
        print_json([finding._asdict() for finding in findings])
    else:
        _print(file, count, findings)
    if not all(finding.is_warning for finding in findings):
        raise click.exceptions.Exit(1)


@command.command("schema", epilog="Example: bench tasks schema > tasks.schema.json")
def schema() -> None:
    """Print the JSON Schema of files of tasks, for editors."""
    from trialbed_tasks.reading import file_schema

    print_json(file_schema())


@command.command("draft", epilog="Example: bench tasks draft --from traces.jsonl -o tasks.yaml")
@option(
    "--from",
    "sources",
    type=FILE,
    multiple=True,
    required=True,
    metavar="FILE|FOLDER",
    help="Recorded conversations or traces, as bench score reads them; repeatable.",
)
@option("-o", "--output", type=FILE, required=True, help="File to write, NAME.yaml, which must not exist.")
@json_option
def draft(sources: tuple[Path, ...], output: Path, as_json: bool) -> None:
    """Draft tasks from recorded conversations, for you to confirm.

    The conversations are lists of messages or traces, in any form that bench score reads. Each becomes a task, with a
    turn for each message of its user, that expects the same calls and the last answer. Traces with the same
    conversation or session id are one conversation. The results in the conversations become the tools' examples.
    """
    from trialbed.conversations import read_samples
    from trialbed.errors import NothingMeasured
    from trialbed.files import write_text
    from trialbed.views import printable
    from trialbed_tasks.drafting import check_target, draft_tasks

    check_target(output)
    samples = [sample for source in sources for sample in read_samples(source)]
    found = draft_tasks(samples, ", ".join(str(source) for source in sources))
    if not found.tasks:
        raise NothingMeasured(f"no task could be drafted: {found.left_out[0]}")
    write_text(output, found.text, "-o")
    if as_json:
        print_json({"file": str(output), "tasks": found.tasks, "left_out": found.left_out})
        return
    click.echo(printable(f"{output}: {found.tasks} {'task' if found.tasks == 1 else 'tasks'} to confirm"))
    for line in found.left_out:
        click.echo(printable(f"left out: {line}"))
    click.echo(printable(f"Next, read them, then: bench tasks check {output}"))


def _print(file: str, count: int, findings: list[TaskFinding]) -> None:
    for finding in findings:
        click.echo(f"task {finding.task}: {'warning: ' * finding.is_warning}{finding.problem}")
    wrong = len({finding.task for finding in findings})
    click.echo(
        f"{file}: {count} {'task' if count == 1 else 'tasks'}, "
        + (f"{wrong} of them with findings" if wrong else "no findings")
    )
