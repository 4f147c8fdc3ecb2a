"""The progress of builds of environments: lines that stay, and on a terminal spinners below them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress as Spinners
from rich.progress import SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from trialbed.environments import BuildSteps, InstalledEnvironment


@contextmanager
def build_progress() -> Iterator[BuildSteps]:
    """Yield the progress that suits standard error; its spinners stop at the end."""
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with Spinners(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as spinners:
        yield BuildProgress(spinners)


class BuildProgress(BuildSteps):
    """Lines for each environment, and a spinner with the time that it takes."""

    def __init__(self, spinners: Spinners) -> None:
        self._spinners = spinners
        self._tasks: dict[str, TaskID] = {}

    def resolving(self, framework: str) -> None:
        """Show a spinner."""
        self._spin(framework, "choosing versions")

    def waiting(self, framework: str) -> None:
        """Print that another process builds it, and show a spinner."""
        self._print(f"{framework}: its environment is already being built by another process; waiting for it")
        self._spin(framework, "waiting")

    def offline(self, framework: str) -> None:
        """Print that only uv's cache is used."""
        self._print(f"{framework}: no network; using only uv's cache")

    def building(self, framework: str, summary: str) -> None:
        """Print the releases that are installed, and show a spinner."""
        self._print(f"{framework}: building its environment ({summary}) …")
        self._spin(framework, "installing")

    def ready(self, framework: str, installed: InstalledEnvironment, seconds: float | None) -> None:
        """Remove the spinner, and print the environment that is used."""
        self.failed(framework)
        took = "" if seconds is None else f", built in {seconds:.0f} s"
        self._print(f"{framework}: own environment {installed.name} ({installed.summary}){took}")

    def failed(self, framework: str) -> None:
        """Remove the spinner; the error is reported by the command."""
        if framework in self._tasks:
            self._spinners.remove_task(self._tasks.pop(framework))

    def _print(self, line: str) -> None:
        self._spinners.console.print(line, soft_wrap=True)

    def _spin(self, framework: str, step: str) -> None:
        if framework in self._tasks:
            self._spinners.update(self._tasks[framework], description=f"{framework}: {step}")
        else:
            self._tasks[framework] = self._spinners.add_task(f"{framework}: {step}", total=None)
