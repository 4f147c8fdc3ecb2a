"""Progress of a run on stderr: a live bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from trialbed.cli.progress import is_line_due, new_bar
from trialbed.engine import RunProgress
from trialbed.errors import NothingMeasured
from trialbed.records import NOT_MEASURED, Run, TrialResult
from trialbed.views import printable
from trialbed.wire.redaction import redact

MAX_CAUSE = 160
"""Characters of a cause; the table has more of it, and the document has all."""

MAX_NOTE = 400
"""Characters of a note."""

WORTH_SAYING = 5.0
"""Seconds that a run must still take for the time left to be shown."""


@contextmanager
def progress() -> Iterator[RunProgress]:
    """The progress of a run on this terminal; if the run ends early, says how to continue."""
    shown: PlainProgress = LiveProgress() if sys.stderr.isatty() else PlainProgress()
    try:
        yield shown
    except NothingMeasured:
        shown.end()
        raise
    except BaseException:
        shown.end()
        shown.print_resume_hint()
        raise


class PlainProgress:
    """A line at the start, for the first failure of each kind, at each tenth and at the end.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = self.done = self.kept = 0
        self.failures: Counter[str] = Counter()
        self._clock = clock
        self._seen: set[tuple[str, str]] = set()

    def begin(self, run: Run, *, total: int, done: int) -> None:
        """Say which run it is and what of it is kept."""
        self.total, self.done, self.kept = total, done, done
        self._began, self._from = self._clock(), done
        again = f", {done} of them kept from before" if done else ""
        click.echo(f"run {run.run_id}: {total} trial{'s' * (total != 1)}{again}", err=True)

    def note(self, text: str) -> None:
        """Print it, with what an endpoint said in it cut and without secrets."""
        self.write(_shortened(text, MAX_NOTE))

    def advance(self, result: TrialResult) -> None:
        """Count a trial, and give the cause of the first failure of its kind."""
        self.done += 1
        self.kept += result.status != "not measured"
        if result.outcome.failure:
            self.failures[result.outcome.failure.kind] += 1
            self._tell(result)
        self.show()

    def again(self, count: int) -> None:
        """Say that trials are attempted again, and count them no longer."""
        self.done -= count
        for kind in NOT_MEASURED:
            del self.failures[kind]
        self._from = min(self._from, self.done)
        trials = "1 trial was" if count == 1 else f"{count} trials were"
        self.write(f"{trials} not measured and will be attempted again")

    def show(self) -> None:
        """Print a line if a tenth is full."""
        if is_line_due(self.done, self.total):
            click.echo(f"[{self.done}/{self.total}]{self.errors()}{self.left()}", err=True)

    def write(self, line: str) -> None:
        """Print a line that stays."""
        click.echo(line, err=True)

    def errors(self) -> str:
        """The failures so far, by kind."""
        if not self.failures:
            return ""
        return " errors: " + ", ".join(f"{count} {kind}" for kind, count in sorted(self.failures.items()))

    def left(self) -> str:
        """The time that is left, if the rest takes as long per trial as what is done."""
        ended = self.done - self._from
        if ended <= 0:
            return ""
        seconds = (self._clock() - self._began) / ended * (self.total - self.done)
        return f", about {_duration(seconds)} left" if seconds >= WORTH_SAYING else ""

    def end(self) -> None:
        """Nothing is open."""

    def print_resume_hint(self) -> None:
        """Say what is kept of a run that ended early."""
        if self.total and self.kept:
            kept = f"{self.kept} of {self.total} trials are kept"
            click.echo(f"{kept}; the same command continues from there, --fresh starts over.", err=True)

    def _tell(self, result: TrialResult) -> None:
        failure = result.outcome.failure
        framework = result.key.framework
        if failure is None or (framework, failure.kind) in self._seen:
            return
        self._seen.add((framework, failure.kind))
        cause = _shortened(failure.message, MAX_CAUSE)
        self.write(f"{framework}, query {result.key.query_id}: {failure.kind}: {cause}")


class LiveProgress(PlainProgress):
    """A live bar, and a line for the first failure of each kind."""

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

    def write(self, line: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(line, markup=False, highlight=False)

    def end(self) -> None:
        """Remove the bar."""
        self._bar.stop()


def _shortened(message: str, most: int) -> str:
    text = printable(" ".join(redact(message).split()))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _duration(seconds: float) -> str:
    """A duration in the largest unit that fits."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
