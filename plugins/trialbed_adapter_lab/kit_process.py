"""Run the kit, or the fuzzer's conversations, in a process of the interpreter that has an adapter; show the report."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from subprocess import PIPE, Popen
from typing import IO, TYPE_CHECKING, Any

import click
from pydantic import ValidationError

from trialbed.agent_programs import agent_commands
from trialbed.cli.options import print_json
from trialbed.errors import NothingMeasured, UsageError
from trialbed.records import CONTROLLED, framework_profile
from trialbed.suggestions import closest, did_you_mean
from trialbed.texts import number_of
from trialbed.views import TestCase, TestOutcome, TestSuite, junit
from trialbed.worker import SUPERVISED, WORKER_MARK, CommandSpec, supervised_command, worker_environment
from trialbed_adapter_lab import PROBES, CheckFinding
from trialbed_adapter_lab.fuzz import Breach, Breaches, Conversation, search
from trialbed_adapter_lab.probe import MARKS, PROBLEMS, ConformanceReport, Outcome

if TYPE_CHECKING:
    from trialbed.records import Environment


USAGE = 2

LONGEST_LINE = 2**26
"""Bytes of a line that the kit or the framework writes to standard error."""


def show_line(line: str) -> None:
    """Print a line to stderr."""
    click.echo(line, err=True)


async def run_kit(
    framework: str, environment: Environment | None, arguments: Sequence[str], show: Callable[[str], object] = show_line
) -> ConformanceReport:
    """Run the kit in a process of the interpreter that has the adapter; the process ends if this is cancelled.

    Args:
        framework: the driver's name.
        environment: the adapter's own; None if it is installed here.
        arguments: more options of ``python -m trialbed_adapter_lab``.
        show: called with a line per probe; prints it to stderr by default.
    """
    command, settings = kit_command(framework, environment, arguments)
    with tempfile.TemporaryFile() as output:
        kit = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=output, stderr=PIPE, limit=LONGEST_LINE, **settings
        )
        assert kit.stderr is not None  # noqa: S101 - it is a pipe
        others = []
        try:
            async for raw in kit.stderr:
                line = raw.decode(errors="replace").rstrip()
                if line[:2] in {f"{mark} " for mark in MARKS.values()}:
                    show(line)
                else:
                    others.append(line)
        except BaseException:
            end_kit(kit)
            raise
        finally:
            code = await kit.wait()
        return _report(code, output, others)


def kit_command(
    framework: str, environment: Environment | None, arguments: Sequence[str]
) -> tuple[list[str], dict[str, Any]]:
    """Return the command that runs the kit in the adapter's interpreter, and settings of its process.

    ``run_kit`` documents the arguments. All processes of the kit end with it, and it ends if the pipe of its input is
    closed.
    """
    python = environment.python if environment else sys.executable
    # -P: a folder of the working directory must not be taken for a package.
    command = [python, "-P", "-m", "trialbed_adapter_lab", "--framework", framework, *arguments]
    variables = worker_environment("conformance", own_packages=environment is not None)
    del variables[WORKER_MARK]
    # A program of the adapter's may outlive the kit, and hang.
    return supervised_command(command), {"env": variables, "start_new_session": True}


def end_kit(kit: Popen[Any] | asyncio.subprocess.Process) -> None:
    """End the kit and all that it started; its input is a pipe."""
    if SUPERVISED and kit.stdin is not None:
        kit.stdin.close()
    else:
        kit.kill()


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


QUIET: tuple[Outcome, ...] = ("skipped", "finding", "declared")
"""Outcomes other than passed that are not failures, in display order."""

BLOCKS = 3
"""Causes of failures that are shown in full."""

LINES = 18
"""Lines of a message that are shown; with its name and with the checks that fail for the same cause, twenty."""

NAMED = 12
"""Checks that a list names."""

VERSION = 12
"""Letters of a program's digest that stand for its version."""

TESTS: dict[Outcome, TestOutcome] = {"passed": "passed", "failed": "failure", "outdated": "failure", "error": "error"}
"""Outcome of a check -> outcome of its test; all others are skipped."""

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
        click.echo(f"{len(rest)} more failed, probably for the same reasons; --check NAME shows one:")
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


SHOWN = 600
"""Characters of a breach that are shown; the test that is printed shows the rest."""


def fuzz_adapter(framework: str, environment: Environment | None, seconds: float, *, as_json: bool) -> int:
    """Play drawn conversations for this time, and print the shortest that breaks each invariant as a test.

    A breach is a failure of the profile ``controlled`` alone, also of an adapter that has no other.
    """
    command, settings = kit_command(framework, environment, ["--play"])
    settings |= {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
    with subprocess.Popen(command, **settings) as process:

        def play(conversation: Conversation) -> Breaches:
            assert process.stdin is not None  # noqa: S101 - it is a pipe
            print(conversation.model_dump_json(), file=process.stdin, flush=True)
            return [(invariant, words) for invariant, words in json.loads(_read_line(process))]

        try:
            label, agent = json.loads(_read_line(process))
            found, played, left = list[Breach](), 0, seconds
            while left > 0:
                began = time.monotonic()
                breach, count = search(play, left, known=[one.invariant for one in found])
                found, played, left = [*found, *filter(None, [breach])], played + count, left - time.monotonic() + began
        finally:
            end_kit(process)
    if not played:
        raise NothingMeasured(f"no conversation was played within {seconds:g} s; give --fuzz more time")
    tests = [one.conversation.as_test(agent) for one in found]
    binds = framework_profile(label) == CONTROLLED
    if as_json:
        shown = [
            {"invariant": one.invariant, "words": one.words, "test": test}
            for one, test in zip(found, tests, strict=True)
        ]
        print_json({"played": played, "breaches": shown})
        return 1 if found and binds else 0
    click.echo(f"{label}: {number_of(played, 'conversation')} played, {len(found) or 'none'} of the invariants broken")
    if found and not binds:
        click.echo("This profile leaves it to the framework, so it is not a failure.")
    for one, test in zip(found, tests, strict=True):
        click.echo(f"\n{one.invariant or 'reference'}: {one.words[:SHOWN]}\n\nAs a test:\n\n{test}")
    return 1 if found and binds else 0


def _read_line(process: subprocess.Popen[str]) -> str:
    """Return the next line that the process answers; the output of a framework goes elsewhere."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    line = process.stdout.readline()
    if not line:
        raise NothingMeasured(f"the adapter's process ended with {process.wait()} while it played")
    return line
