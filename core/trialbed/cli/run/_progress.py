"""Progress of a run on stderr; of runs from Python, it appears once a run takes long."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager

from trialbed.cli.progress import PlainProgress, followed, new_display
from trialbed.engine import RunProgress
from trialbed.records import NOT_MEASURED, Run, TrialResult
from trialbed.texts import number_of, one_line
from trialbed.views import printable
from trialbed.wire.redaction import redact

ENOUGH = 3
"""Trials that must have ended: fewer say nothing about a pace."""

WORTH_SAYING = 5.0
"""Seconds that a run must still take for the time left to be shown."""

SURE = 0.25
"""The part of the time left by which it may be wrong and is still one number, not a range."""

SPREAD = 2.0
"""Standard errors to both sides."""

MAX_CAUSE = 160
"""Characters of a cause; the table has more of it, and the document has all."""

MAX_NOTE = 400
"""Characters of a note."""

SILENCE = 30.0
"""Seconds after which requests that take long are said where there is no terminal; then after twice as many."""


class TimeLeft:
    """The times between the ends of trials.

    Args:
        now: seconds on any clock, when the first trials begin.
    """

    def __init__(self, now: float) -> None:
        self._last = now
        self._count = 0
        self._mean = self._squares = 0.0

    def advance(self, now: float) -> None:
        """A trial has ended."""
        gap, self._last = now - self._last, now
        self._count += 1
        before = gap - self._mean
        self._mean += before / self._count
        self._squares += before * (gap - self._mean)

    def estimate(self, trials: int, now: float) -> str:
        """The time that so many trials will take, in words; empty where that is not known, or is soon over."""
        if self._count < ENOUGH:
            return ""
        waited = now - self._last
        # The trial in hand takes at least as long as it has already taken.
        expected = max(trials * self._mean - waited, (trials - 1) * self._mean)
        variance = self._squares / (self._count - 1)
        error = SPREAD * math.sqrt(trials * variance + trials**2 * variance / self._count)
        if expected + error < WORTH_SAYING:
            return ""
        if error <= SURE * expected:
            return f", about {duration(expected)} left"
        most = duration(expected + error)
        return f", {duration(expected - error)} to {most} left" if expected > error else f", up to {most} left"


def duration(seconds: float) -> str:
    """A duration in the largest unit that fits."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def progress() -> AbstractContextManager[TrialProgress]:
    """Return the progress of a run on this terminal; if the run ends early, it says how to continue."""
    return followed(new_progress())


class TrialProgress(RunProgress):
    """The trials of a run: how many have ended, and the first failure of each kind.

    Args:
        clock: seconds.
    """

    def __init__(self, display: PlainProgress, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = self.done = self.kept = 0
        self.failures: Counter[str] = Counter()
        self._display = display
        self._clock = clock
        self._silence = self._due = 0.0
        self._seen: set[tuple[str, str]] = set()

    def begin(self, run: Run, *, total: int, done: int) -> None:
        """Say which run it is and what of it is kept."""
        self.total, self.done, self.kept = total, done, done
        self._pace = TimeLeft(self._clock())
        self._break_silence()
        again = f", {done} of them kept from before" if done else ""
        self._display.write(f"run {run.run_id}: {total} trial{'s' * (total != 1)}{again}")
        self._display.begin("", total, done)

    def note(self, text: str) -> None:
        """Print it, with what an endpoint said in it cut and without secrets."""
        self._display.write(_shorten(text, MAX_NOTE))

    def advance(self, result: TrialResult) -> None:
        """Count a trial, and give the cause of the first failure of its kind."""
        self.done += 1
        self._pace.advance(self._clock())
        self._break_silence()
        self.kept += result.status != "not measured"
        if result.outcome.failure:
            self.failures[result.outcome.failure.kind] += 1
            self._write_first(result)
        self._display.watch("", "", self.left())
        self._display.move("", self.done, self.total, failed=self.errors(), left=self.left())

    def again(self, count: int) -> None:
        """Say that trials are attempted again, and count them no longer."""
        self.done -= count
        for kind in NOT_MEASURED:
            del self.failures[kind]
        trials = "1 trial was" if count == 1 else f"{count} trials were"
        self._display.write(f"{trials} not measured and will be attempted again")

    def errors(self) -> str:
        """The failures so far, by kind."""
        if not self.failures:
            return ""
        return " errors: " + ", ".join(f"{count} {kind}" for kind, count in sorted(self.failures.items()))

    def left(self) -> str:
        """The time that is left, as far as the pace says."""
        return self._pace.estimate(self.total - self.done, self._clock())

    def wait(self, flights: str) -> None:
        """Show the requests that take long: at once on a terminal, elsewhere as a line now and then."""
        left = self.left()
        self._display.watch("", flights, left)
        if flights and not self._display.is_live and self._clock() >= self._due:
            self._display.write(f"[{self.done}/{self.total}] {_shorten(flights, MAX_NOTE)}{left}")
            self._silence *= 2
            self._due = self._clock() + self._silence

    def end(self) -> None:
        """Close the display."""
        self._display.end()

    def print_resume_hint(self) -> None:
        """Say how many trials are kept of a run that ended early."""
        if self.total and self.kept:
            kept = f"{self.kept} of {number_of(self.total, 'trial')} {'is' if self.kept == 1 else 'are'} kept"
            self._display.write(f"{kept}; the same command continues from there, --fresh starts over.")

    def _break_silence(self) -> None:
        self._silence, self._due = SILENCE, self._clock() + SILENCE

    def _write_first(self, result: TrialResult) -> None:
        failure = result.outcome.failure
        framework = result.key.framework
        if failure is None or (framework, failure.kind) in self._seen:
            return
        self._seen.add((framework, failure.kind))
        cause = _shorten(failure.message, MAX_CAUSE)
        self._display.write(f"{framework}, query {result.key.query_id}: {failure.kind}: {cause}")


def _shorten(message: str, most: int) -> str:
    return printable(one_line(redact(message), most))


WAIT = 2.0
"""Seconds after which a run takes long."""


def function_progress(wanted: bool | None) -> RunProgress:
    """Return the progress of a function that runs trials: on standard error, or none.

    Args:
        wanted: None to show it where a run takes long, and a person may be looking: at a terminal, or in a notebook.
    """
    if wanted is None:
        return LateProgress(new_progress) if sys.stderr.isatty() or in_notebook() else RunProgress()
    return new_progress() if wanted else RunProgress()


def new_progress() -> TrialProgress:
    """Return progress in the display that suits stderr."""
    return TrialProgress(new_display())


def in_notebook() -> bool:
    """Return whether this is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return type(shell).__name__ == "ZMQInteractiveShell"


class LateProgress(RunProgress):
    """Progress that is shown from ``WAIT`` seconds after the run began.

    Args:
        make: makes the progress that is shown.
    """

    def __init__(self, make: Callable[[], TrialProgress]) -> None:
        self._make = make
        self._shown: TrialProgress | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._kept: list[Callable[[TrialProgress], None]] = []

    def begin(self, run: Run, *, total: int, done: int) -> None:
        """Begin to wait."""
        self._call(lambda shown: shown.begin(run, total=total, done=done))
        self._timer = asyncio.get_running_loop().call_later(WAIT, self._show)

    def advance(self, result: TrialResult) -> None:
        """Count a trial."""
        self._call(lambda shown: shown.advance(result))

    def again(self, count: int) -> None:
        """Count trials that are attempted again no longer."""
        self._call(lambda shown: shown.again(count))

    def note(self, text: str) -> None:
        """Show a note at once."""
        (self._shown or TrialProgress(PlainProgress())).note(text)

    def wait(self, flights: str) -> None:
        """Show what takes long, if steps are shown."""
        if self._shown is not None:
            self._shown.wait(flights)

    def end(self) -> None:
        """Show nothing more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._shown is not None:
            self._shown.end()

    def _call(self, method: Callable[[TrialProgress], None]) -> None:
        """Show a step, or keep it until steps are shown."""
        if self._shown is None:
            self._kept.append(method)
        else:
            method(self._shown)

    def _show(self) -> None:
        self._shown = self._make()
        for method in self._kept:
            method(self._shown)
