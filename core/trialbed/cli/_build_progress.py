"""The progress of builds of environments: spinners on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import Progress as Spinners
from rich.progress import SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from trialbed.environments import BuildSteps, InstalledEnvironment


@contextmanager
def build_progress() -> Iterator[BuildSteps]:
    """Yield the progress that suits standard error; its spinners stop at the end."""
    if not sys.stderr.isatty():
        yield LineProgress()
        return
    progress = SpinnerProgress()
    try:
        yield progress
    finally:
        progress.stop()


class LineProgress(BuildSteps):
    """A line when a build begins, and a line when its environment is ready."""

    def waiting(self, framework: str) -> None:
        """Print that another process builds it."""
        self.print(f"{framework}: its environment is already being built by another process; waiting for it")

    def offline(self, framework: str) -> None:
        """Print that only uv's cache is used."""
        self.print(f"{framework}: no network; using only uv's cache")

    def building(self, framework: str, summary: str) -> None:
        """Print the releases that are installed."""
        self.print(f"{framework}: building its environment ({summary}) …")

    def ready(self, framework: str, installed: InstalledEnvironment, seconds: float | None) -> None:
        """Print the environment that is used."""
        took = "" if seconds is None else f", built in {seconds:.0f} s"
        self.print(f"{framework}: own environment {installed.name} ({installed.summary}){took}")

    def print(self, line: str) -> None:
        """Print a line to standard error."""
        click.echo(line, err=True)


class SpinnerProgress(LineProgress):
    """A spinner per environment with the time that it takes, below the lines."""

    def __init__(self) -> None:
        self._tasks: dict[str, TaskID] = {}
        self._console = Console(stderr=True, highlight=False, markup=False)
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        self._spinners = Spinners(*columns, console=self._console, transient=True)
        self._spinners.start()

    def resolving(self, framework: str) -> None:
        """Show a spinner."""
        self._spin(framework, f"{framework}: choosing versions")

    def waiting(self, framework: str) -> None:
        """Print that another process builds it, and show a spinner."""
        super().waiting(framework)
        self._spin(framework, f"{framework}: waiting")

    def building(self, framework: str, summary: str) -> None:
        """Print the releases that are installed, and show a spinner."""
        super().building(framework, summary)
        self._spin(framework, f"{framework}: installing")

    def ready(self, framework: str, installed: InstalledEnvironment, seconds: float | None) -> None:
        """Remove the spinner, and print the environment that is used."""
        self.failed(framework)
        super().ready(framework, installed, seconds)

    def failed(self, framework: str) -> None:
        """Remove the spinner; the error is reported by the command."""
        if framework in self._tasks:
            self._spinners.remove_task(self._tasks.pop(framework))

    def print(self, line: str) -> None:
        """Print a line above the spinners."""
        self._console.print(line, soft_wrap=True)

    def stop(self) -> None:
        """Remove all spinners."""
        self._spinners.stop()

    def _spin(self, framework: str, text: str) -> None:
        if framework in self._tasks:
            self._spinners.update(self._tasks[framework], description=text)
        else:
            self._tasks[framework] = self._spinners.add_task(text, total=None)
