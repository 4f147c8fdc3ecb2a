"""What is said while environments are built: spinners on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from trialbed.environments import Built


@contextmanager
def building() -> Iterator[PlainBuilding]:
    """What tells of builds here."""
    shown: PlainBuilding = LiveBuilding() if sys.stderr.isatty() else PlainBuilding()
    try:
        yield shown
    finally:
        shown.end()


class PlainBuilding:
    """A line when it begins, a line when it ends."""

    def resolving(self, label: str) -> None:
        """Nothing: it takes seconds."""

    def waiting(self, label: str) -> None:
        """Say who is at it."""
        self.say(f"{label}: its environment is being built already; waiting for it")

    def offline(self, label: str) -> None:
        """Say what is made do with."""
        self.say(f"{label}: no network; going on with what uv has in its cache")

    def building(self, label: str, summary: str) -> None:
        """Say what is built."""
        self.say(f"{label}: building its environment ({summary}) …")

    def ready(self, label: str, built: Built, seconds: float | None) -> None:
        """Say what is there now."""
        took = "" if seconds is None else f", built in {seconds:.0f} s"
        self.say(f"{label}: own environment {built.title} ({built.summary}){took}")

    def failed(self, label: str) -> None:
        """Nothing: the error says it."""

    def say(self, line: str) -> None:
        """Print a line."""
        click.echo(line, err=True)

    def end(self) -> None:
        """Nothing is open."""


class LiveBuilding(PlainBuilding):
    """A spinner per environment with the time that it takes, below the lines."""

    def __init__(self) -> None:
        self._tasks: dict[str, TaskID] = {}
        self._console = Console(stderr=True, highlight=False, markup=False)
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        self._progress = Progress(*columns, console=self._console, transient=True)
        self._progress.start()

    def resolving(self, label: str) -> None:
        """Begin to spin."""
        self._spin(label, f"{label}: choosing versions")

    def waiting(self, label: str) -> None:
        """Say who is at it, and spin."""
        super().waiting(label)
        self._spin(label, f"{label}: waiting")

    def building(self, label: str, summary: str) -> None:
        """Say what is built, and spin."""
        super().building(label, summary)
        self._spin(label, f"{label}: installing")

    def ready(self, label: str, built: Built, seconds: float | None) -> None:
        """Stop spinning and say what is there now."""
        self._stop(label)
        super().ready(label, built, seconds)

    def failed(self, label: str) -> None:
        """Stop spinning."""
        self._stop(label)

    def say(self, line: str) -> None:
        """Print a line above the spinners."""
        self._console.print(line, soft_wrap=True)

    def end(self) -> None:
        """Take the spinners away."""
        self._progress.stop()

    def _spin(self, label: str, what: str) -> None:
        if label in self._tasks:
            self._progress.update(self._tasks[label], description=what)
        else:
            self._tasks[label] = self._progress.add_task(what, total=None)

    def _stop(self, label: str) -> None:
        if label in self._tasks:
            self._progress.remove_task(self._tasks.pop(label))
