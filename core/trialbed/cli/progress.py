"""Progress of every command on stderr, in live bars or spinners on a terminal, or in lines; and an early end."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from trialbed.errors import NothingMeasured

if TYPE_CHECKING:
    from trialbed.environments import ShowStep

LINES = 10
"""Number of lines that are printed without a terminal."""


class Resumable(Protocol):
    """Progress of work that can be resumed."""

    def end(self) -> None:
        """Close the display."""

    def print_resume_hint(self) -> None:
        """Print how many trials are kept, and how to resume."""


R = TypeVar("R", bound=Resumable)


@contextmanager
def followed(progress: R) -> Iterator[R]:
    """Give the progress, and close it; print how to resume if the body raises an exception.

    If nothing was measured, nothing is kept, and there is no hint.
    """
    ended_early = True
    try:
        yield progress
        ended_early = False
    except NothingMeasured:
        ended_early = False
        raise
    finally:
        progress.end()
        if ended_early:
            progress.print_resume_hint()


class PlainProgress:
    """A line at each tenth and at the end of every part of the work."""

    def begin(self, part: str, total: int, done: int) -> None:
        """Begin a part.

        Args:
            part: its name; empty for work that has one part only.
        """

    def move(self, part: str, done: int, total: int, *, failed: str = "", left: str = "") -> None:
        """Print a line if a tenth is full.

        Args:
            failed: the failures so far, in words.
            left: the time that is left, in words, if the display does not estimate it.
        """
        if done == total or done * LINES // total > (done - 1) * LINES // total:
            prefix = f"{part}: " if part else ""
            self.write(f"{prefix}[{done}/{total}]{failed}{left}")

    def write(self, line: str) -> None:
        """Print a line that stays."""
        click.echo(line, err=True)

    def say_alive(self, line: str) -> None:
        """Print a line during a long silence."""
        self.write(line)

    def end(self) -> None:
        """Do nothing, because lines need no clean-up."""


class LiveProgress(PlainProgress):
    """A bar for every part, which disappears at the end."""

    def __init__(self) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("[red]{task.fields[failed]}"),
        )
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._tasks: dict[str, TaskID] = {}

    def begin(self, part: str, total: int, done: int) -> None:
        """Start a bar."""
        self._tasks[part] = self.bar.add_task(escape(part) or "trials", total=total, completed=done, failed="")
        self.bar.start()

    def move(self, part: str, done: int, total: int, *, failed: str = "", left: str = "") -> None:  # noqa: ARG002 - rich estimates it
        """Move the part's bar."""
        self.bar.update(self._tasks[part], completed=done, total=total, failed=failed)

    def write(self, line: str) -> None:
        """Print a line above the bars."""
        self.bar.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def say_alive(self, line: str) -> None:
        """Do nothing, because the bar shows the time."""

    def end(self) -> None:
        """Remove the bars."""
        self.bar.stop()


def new_display() -> PlainProgress:
    """Return the display that suits stderr."""
    return LiveProgress() if sys.stderr.isatty() else PlainProgress()


@contextmanager
def build_progress() -> Iterator[ShowStep]:
    """Yield what shows the steps of builds on standard error; its spinners stop at the end."""
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as spinners:

        def show(framework: str, step: str, line: str) -> None:
            if not step and framework in tasks:
                spinners.remove_task(tasks.pop(framework))
            if line:
                console.print(f"{framework}: {line}", soft_wrap=True)
            if step and framework not in tasks:
                tasks[framework] = spinners.add_task("", total=None)
            if step:
                spinners.update(tasks[framework], description=f"{framework}: {step}")

        yield show


@contextmanager
def cancel_on_terminate() -> Iterator[None]:
    """End the current task cleanly on SIGTERM, like Ctrl-C, with all finished work kept."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # noqa: S101 - called inside a task
    try:
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
    except NotImplementedError:  # event loops without signals (Windows)
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
