"""The choice of checks for ``bench adapter check``, and how a report is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from trialbed.agent_programs import agent_commands
from trialbed.errors import UsageError
from trialbed.suggestions import closest, did_you_mean
from trialbed.views import TestCase, TestOutcome, TestSuite, junit
from trialbed.worker import CommandSpec
from trialbed_adapter_lab import PROBES, CheckFinding, ConformanceReport
from trialbed_adapter_lab.probe import MARKS, PROBLEMS, Outcome

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


def check_names(names: Iterable[str]) -> None:
    """Refuse names that no check has."""
    known = [probe.name for probe in PROBES]
    for name in names:
        if name not in known:
            close = closest(name, known, cutoff=0.5)
            hint = did_you_mean(close) if close else "; without --check, all are run and named"
            raise UsageError(f"{name!r} is not a check{hint}")


def check_known(declared: Sequence[str]) -> None:
    """Refuse a limitation ``CHECK=REASON`` of an unknown check, or without a reason."""
    pairs = [one.partition("=") for one in declared]
    check_names(name for name, *_ in pairs)
    if missing := [name for name, _, reason in pairs if not reason.strip()]:
        raise UsageError(f"--known {missing[0]}: give a reason: --known {missing[0]}=REASON")


def program_arguments(command: str) -> tuple[str, list[str]]:
    """Return the name of a program, and the options of ``python -m trialbed_adapter_lab`` for it."""
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
    return junit([TestSuite(f"{report.framework} {report.version}", cases, {"badge": report.badge, "kit": report.kit})])


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
