"""The kit in a process of the interpreter that has an adapter."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Sequence
from subprocess import PIPE, Popen
from typing import IO, TYPE_CHECKING, Any

import click
from pydantic import ValidationError

from trialbed.errors import NothingMeasured, UsageError
from trialbed.worker import SUPERVISED, WORKER_MARK, supervised_command, worker_environment
from trialbed_adapter_lab.probe import MARKS, ConformanceReport

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
