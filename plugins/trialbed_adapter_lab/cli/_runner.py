"""Run the conformance kit where an adapter is installed, and show its report."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from pydantic import ValidationError

from trialbed.agent_programs import agent_commands
from trialbed.errors import NothingMeasured, UsageError
from trialbed.suggestions import closest, did_you_mean
from trialbed.views import TestCase, TestOutcome, TestSuite, junit
from trialbed.worker import SUPERVISED, WORKER_MARK, CommandSpec, supervised_command, worker_environment
from trialbed_adapter_lab import LEVELS, PROBES, CheckFinding, ConformanceReport, Level
from trialbed_adapter_lab.probe import MARKS, PROBLEMS, Outcome

if TYPE_CHECKING:
    from trialbed.records import Environment

USAGE = 2

QUIET: tuple[Outcome, ...] = ("skipped", "finding", "declared")
"""Outcomes beside passed that are no failure, in the order in which they are shown."""

BLOCKS = 3
"""Causes of failures that are shown in full."""

LINES = 18
"""Lines of a message that are shown; with its name and with the checks that fail for the same cause, twenty."""

NAMED = 12
"""Checks that a list names."""

VERSION = 12
"""Letters of a program's digest that stand for its version."""

TESTS: dict[Outcome, TestOutcome] = {"passed": "passed", "failed": "failure", "outdated": "failure", "error": "error"}
"""Outcome of a check -> that of a test; all others are skipped."""

COLOURS = {"passed": "green", "skipped": "cyan", "finding": "cyan", "declared": "yellow"}


def choose(names: Sequence[str], level: Level, profile: str | None) -> None:
    """Refuse a choice of checks that leaves none for a profile.

    Raises:
        UsageError: says which there are.
    """
    levels = (*LEVELS[: LEVELS.index(level) + 1], "info")
    known = {probe.name: probe.level_for(profile) for probe in PROBES}
    for name in names:
        if name not in known:
            close = closest(name, known, cutoff=0.5)
            hint = did_you_mean(close) if close else "; without --check, all are run and named"
            raise UsageError(f"{name!r} is not a check{hint}")
    if names and not any(known[name] in levels for name in names):
        raise UsageError(f"{', '.join(names)}: not of level {level!r} or above; omit --level to run every check")


def program_arguments(command: str) -> tuple[str, list[str]]:
    """Return the name of a program, and the options of ``python -m trialbed_adapter_lab`` for it.

    Raises:
        UsageError: the command cannot be read, or its program is missing.
    """
    ((name, found),) = agent_commands([command], Path.cwd()).items()
    spec = CommandSpec(arguments=found.arguments, version=found.digest()[:VERSION])
    return name, ["--command", spec.model_dump_json()]


def junit_text(report: ConformanceReport) -> str:
    """Return a report as JUnit's XML, with a test for each check."""
    cases = [
        TestCase(
            classname=f"{report.framework}.{finding.level}",
            name=finding.check,
            seconds=finding.seconds,
            outcome=TESTS.get(finding.outcome, "skipped"),
            kind=finding.outcome,
            message=finding.message.partition("\n")[0],
            text=finding.message,
        )
        for finding in report.findings
    ]
    return junit([TestSuite(f"{report.framework} {report.version}", cases, {"badge": report.badge})])


def run_kit(framework: str, environment: Environment | None, arguments: Sequence[str]) -> ConformanceReport:
    """Run the kit in a process of the interpreter that has the adapter; passes a line per check to stderr.

    Args:
        framework: the driver's name.
        environment: the adapter's own; None if it is installed here.
        arguments: more options of ``python -m trialbed_adapter_lab``.

    Raises:
        UsageError: the adapter cannot be loaded.
        NothingMeasured: the kit did not get to its end.
    """
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with (
        tempfile.TemporaryFile() as output,
        start_kit(framework, environment, arguments, stdout=output, **pipes) as kit,
    ):
        try:
            said = _follow(kit)
        except BaseException:
            end_kit(kit)
            raise
        kit.wait()
        return _report(kit.returncode, output, said)


def start_kit(
    framework: str, environment: Environment | None, arguments: Sequence[str], **streams: Any
) -> subprocess.Popen[Any]:
    """Start the kit in the interpreter that has the adapter; the arguments are those of ``run_kit``.

    Whatever it leaves behind ends with it, and it ends if the pipe of its input is closed.
    """
    python = environment.python if environment else sys.executable
    # -P: a folder of the working directory must not be taken for a package.
    command = [python, "-P", "-m", "trialbed_adapter_lab", "--framework", framework, *arguments]
    variables = worker_environment("conformance", own_packages=environment is not None)
    del variables[WORKER_MARK]
    # A program of the adapter's may outlive the kit, and hang.
    return subprocess.Popen(supervised_command(command), env=variables, start_new_session=True, **streams)


def end_kit(kit: subprocess.Popen[Any]) -> None:
    """End the kit and all that it started; its input is a pipe."""
    if SUPERVISED and kit.stdin is not None:
        kit.stdin.close()
    else:
        kit.kill()


def show_report(report: ConformanceReport) -> None:
    """Print the findings, the declared deviations, the failures, and the badge.

    Results of one cause are shown once, and only the first causes of many failures.
    """
    problems = report.by_cause(*PROBLEMS)
    others = [group for outcome in QUIET for group in report.by_cause(outcome)]
    for group in [*others, *problems[:BLOCKS]]:
        _show(*group)
    rest = [finding.check for group in problems[BLOCKS:] for finding in group]
    if rest:
        click.echo(f"{len(rest)} more failed, which may well follow from these; --check NAME shows one:")
        click.echo(f"{_list(rest)}\n")
    if report.dialects:
        click.echo(f"the model was asked in: {', '.join(report.dialects)}")
    click.echo(click.style(report.badge, fg="green" if report.ok else "red"))


def _follow(kit: subprocess.Popen[bytes]) -> list[str]:
    """Pass on the kit's line per check until it ends; returns what else it and the framework wrote."""
    others = []
    assert kit.stderr is not None  # noqa: S101 - it is a pipe
    for raw in kit.stderr:
        line = raw.decode(errors="replace").rstrip()
        if line[:2] in {f"{mark} " for mark in MARKS.values()}:
            click.echo(line, err=True)
        else:
            others.append(line)
    return others


def _report(code: int, output: IO[bytes], said: Sequence[str]) -> ConformanceReport:
    output.seek(0)
    lines = output.read().decode(errors="replace").strip().splitlines()
    try:
        # The last line: a framework may print, too.
        return ConformanceReport.model_validate_json(lines[-1])
    except (IndexError, ValidationError):
        text = "\n".join(said)
        if code == USAGE:
            raise UsageError(text.strip() or "the conformance kit refused its options") from None
        raise NothingMeasured(f"the conformance kit ended with exit code {code} and without a report\n{text}") from None


def _show(finding: CheckFinding, *others: CheckFinding) -> None:
    mark = click.style(MARKS[finding.outcome], fg=COLOURS.get(finding.outcome, "red"))
    click.echo(f"{mark} {finding.check} ({finding.level}): {finding.outcome}")
    for line in _shorten(finding.message.splitlines()):
        click.echo(f"    {line}")
    if others:
        names = _list([other.check for other in others])
        click.echo(f"    The same in {len(others)} more check{'s' * (len(others) > 1)}, {finding.cause}: {names}")
    click.echo()


def _shorten(lines: list[str]) -> list[str]:
    """Return the lines of a block, or its beginning and its end, which has the reason and the hint."""
    if len(lines) <= LINES:
        return lines
    left_out = f"… {len(lines) - LINES} lines, which --json shows"
    return [*lines[: LINES - 5], left_out, *lines[-5:]]


def _list(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
