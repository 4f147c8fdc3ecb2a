"""Progress of a run on stderr: a live bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import click

from trialbed.cli.progress import hint_on_early_end, is_line_due, new_bar
from trialbed.engine import Progress
from trialbed.records import Run, TrialResult


@contextmanager
def progress() -> Iterator[Progress]:
    """The progress of a run on this terminal; if the run ends early, says how to continue."""
    shown: PlainProgress = LiveProgress() if sys.stderr.isatty() else PlainProgress()
    with hint_on_early_end(shown):
        yield shown


class PlainProgress:
    """A line at the start, at each tenth and at the end."""

    def __init__(self) -> None:
        self.total = self.done = 0
        self.failures: Counter[str] = Counter()

    def begin(self, run: Run, *, total: int, done: int) -> None:
        """Say which run it is and what of it is kept."""
        self.total, self.done = total, done
        again = f", {done} of them kept from before" if done else ""
        click.echo(f"run {run.run_id}: {total} trial{'s' * (total != 1)}{again}", err=True)

    def note(self, text: str) -> None:
        """Print it."""
        click.echo(text, err=True)

    def advance(self, result: TrialResult) -> None:
        """Count a trial."""
        self.done += 1
        if result.outcome.failure:
            self.failures[result.outcome.failure.kind] += 1
        self.show()

    def show(self) -> None:
        """Print a line if a tenth is full."""
        if is_line_due(self.done, self.total):
            click.echo(f"[{self.done}/{self.total}]{self.errors()}", err=True)

    def errors(self) -> str:
        """The failures so far, by kind."""
        if not self.failures:
            return ""
        return " errors: " + ", ".join(f"{count} {kind}" for kind, count in sorted(self.failures.items()))

    def end(self) -> None:
        """Nothing is open."""

    def print_resume_hint(self) -> None:
        """Say what is kept of a run that ended early."""
        if self.total and self.done:
            kept = f"{self.done} of {self.total} trials are kept"
            click.echo(f"{kept}; the same command continues from there, --fresh starts over.", err=True)


class LiveProgress(PlainProgress):
    """A live bar."""

    def __init__(self) -> None:
        super().__init__()
        self._bar = new_bar()

    def begin(self, run: Run, *, total: int, done: int) -> None:
        """Start the bar."""
        super().begin(run, total=total, done=done)
        self._task = self._bar.add_task("trials", total=total, completed=done, failed="")
        self._bar.start()

    def show(self) -> None:
        """Move the bar."""
        self._bar.update(self._task, completed=self.done, failed=self.errors())

    def end(self) -> None:
        """Remove the bar."""
        self._bar.stop()
