"""Progress of a verification on stderr: a live bar per target on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.markup import escape
from rich.progress import TaskID

from trialbed.cli.progress import hint_on_early_end, is_line_due, new_bar
from trialbed.records import TrialResult
from trialbed_verify.verification import Target, VerifyProgress


@contextmanager
def verify_progress() -> Iterator[VerifyProgress]:
    """Show progress in the way that suits stderr; if the command ends early, say how to resume."""
    shown: PlainProgress = LiveProgress() if sys.stderr.isatty() else PlainProgress()
    with hint_on_early_end(shown):
        yield shown
        shown.end()


class PlainProgress:
    """A line at the start, at each tenth and at the end of every target."""

    def __init__(self) -> None:
        self.totals: dict[Target, int] = {}
        self.done: Counter[Target] = Counter()
        self.failures: Counter[Target] = Counter()

    def begin(self, target: Target, total: int, kept: int) -> None:
        """Print the target, its number of requests and its results file."""
        self.totals[target], self.done[target] = total, kept
        again = f", {kept} of them already answered" if kept else ""
        click.echo(f"{_label(target)}: {total} requests{again} -> {target.output}", err=True)

    def advance(self, target: Target, result: TrialResult) -> None:
        """Count a completed case."""
        self.done[target] += 1
        self.failures[target] += result.failed
        self.show(target)

    def down(self, target: Target, left: int, failure: str | None) -> None:
        """Print that sending to a target was stopped."""
        why = "its driver failed" if failure else "every request fails"
        click.echo(f"{_label(target)}: {why}; {left} requests not sent. The same command sends them.", err=True)

    def show(self, target: Target) -> None:
        """Print a line after each tenth."""
        done, total = self.done[target], self.totals[target]
        if is_line_due(done, total):
            click.echo(f"{_label(target)}: [{done}/{total}]{self.failed(target)}", err=True)

    def failed(self, target: Target) -> str:
        """The number of failures so far, in words."""
        return f" {self.failures[target]} failed" if self.failures[target] else ""

    def end(self) -> None:
        """Do nothing: lines need no clean-up."""

    def print_resume_hint(self) -> None:
        """Print how many results were saved, and how to resume."""
        if self.done.total():
            done = self.done.total()
            click.echo(f"{done} requests are complete and kept; the same command continues from there.", err=True)


class LiveProgress(PlainProgress):
    """A progress bar per target."""

    def __init__(self) -> None:
        super().__init__()
        self._bar = new_bar()
        self._tasks: dict[Target, TaskID] = {}

    def begin(self, target: Target, total: int, kept: int) -> None:
        """Start the target's bar."""
        super().begin(target, total, kept)
        self._bar.start()
        self._tasks[target] = self._bar.add_task(escape(_label(target)), total=total, completed=kept, failed="")

    def show(self, target: Target) -> None:
        """Move the target's bar."""
        self._bar.update(self._tasks[target], completed=self.done[target], failed=self.failed(target))

    def end(self) -> None:
        """Remove the bars."""
        self._bar.stop()


def _label(target: Target) -> str:
    return f"{target.settings.model} at {target.name}"
