"""Progress of a run on stderr; of runs from Python, it appears once a run takes long."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from trialbed.cli.progress import PlainProgress
from trialbed.engine import RunProgress
from trialbed.records import NOT_MEASURED, Run, TrialResult
from trialbed.texts import number_of, number_were, one_line
from trialbed.views import printable
from trialbed.wire.redaction import redact

ENOUGH = 3
"""The fewest ended trials to estimate a pace from."""

WORTH_SAYING = 5.0
"""Seconds that a run must still take for the time left to be shown."""

MAX_CAUSE = 160
"""Characters of a cause; the table has more of it, and the document has all."""

MAX_NOTE = 400
"""Characters of a note."""

SILENCE = 30.0
"""Seconds of silence before the next line without a terminal; the interval then doubles."""

WAIT = 2.0
"""Seconds after which a run from Python takes long."""


def duration(seconds: float) -> str:
    """Return a duration in the largest unit that fits."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


class TrialProgress(RunProgress):
    """Progress of a run's trials, with the number of ended ones and the first failure of each kind.

    Args:
        clock: seconds.
        after: seconds from the beginning of the run before it is shown.
    """

    def __init__(
        self, display: PlainProgress, clock: Callable[[], float] = time.monotonic, *, after: float = 0.0
    ) -> None:
        self.total = self.done = self.kept = 0
        self.failures: Counter[str] = Counter()
        self._display = display
        self._clock = clock
        self._after = after
        self._head: str | None = None
        self._ended = 0
        self._began = self._due = 0.0
        self._silence = SILENCE
        self._seen: set[tuple[str, str]] = set()

    def begin(self, run: Run, *, total: int, done: int) -> None:
        """Say which run it is and what of it is kept."""
        self.total, self.done, self.kept = total, done, done
        self._began = self._clock()
        self._due = self._began + SILENCE
        again = f", {done} of them kept from before" if done else ""
        self._head = f"run {run.run_id}: {total} trial{'s' * (total != 1)}{again}"
        self._is_shown()

    def note(self, text: str) -> None:
        """Print it, with what an endpoint said in it cut and without secrets."""
        self._display.write(_shorten(text, MAX_NOTE))

    def advance(self, result: TrialResult) -> None:
        """Count a trial, and give the cause of the first failure of its kind."""
        is_shown = self._is_shown()
        self._silence, self._due = SILENCE, self._clock() + SILENCE
        self.done += 1
        self._ended += 1
        self.kept += result.status != "not measured"
        if result.outcome.failure:
            self.failures[result.outcome.failure.kind] += 1
        if is_shown:
            self._write_first(result)
            self._display.move("", self.done, self.total, failed=self.errors(), left=self.left())

    def goes_on(self) -> None:
        """Show that a run is alive if no trial has ended for long."""
        if self._is_shown() and self._clock() >= self._due:
            self._display.say_alive(f"[{self.done}/{self.total}] after {duration(self._clock() - self._began)}")
            self._silence *= 2
            self._due = self._clock() + self._silence

    def again(self, count: int) -> None:
        """Say that trials are attempted again, and count them no longer."""
        self.done -= count
        for kind in NOT_MEASURED:
            del self.failures[kind]
        if self._is_shown():
            self._display.write(f"{number_were(count, 'trial')} not measured and will be attempted again")

    def errors(self) -> str:
        """Return the failures so far, by kind."""
        if not self.failures:
            return ""
        return " errors: " + ", ".join(f"{count} {kind}" for kind, count in sorted(self.failures.items()))

    def left(self) -> str:
        """Return the time left at the pace so far; empty if that is not known, or is short."""
        if self._ended < ENOUGH:
            return ""
        seconds = (self._clock() - self._began) / self._ended * (self.total - self.done)
        return f", about {duration(seconds)} left" if seconds >= WORTH_SAYING else ""

    def end(self) -> None:
        """Close the display."""
        self._display.end()

    def print_resume_hint(self) -> None:
        """Say how many trials are kept of a run that ended early."""
        if self.total and self.kept:
            kept = f"{self.kept} of {number_of(self.total, 'trial')} {'is' if self.kept == 1 else 'are'} kept"
            self._display.write(f"{kept}; the same command continues from there, --fresh starts over.")

    def _is_shown(self) -> bool:
        if self._head is not None and self._clock() - self._began >= self._after:
            self._display.write(self._head)
            self._display.begin("", self.total, self.done)
            self._head = None
        return self._head is None

    def _write_first(self, result: TrialResult) -> None:
        failure = result.outcome.failure
        framework = result.key.framework
        if failure is None or (framework, failure.kind) in self._seen:
            return
        self._seen.add((framework, failure.kind))
        cause = _shorten(failure.message, MAX_CAUSE)
        self._display.write(f"{framework}, task {result.key.query_id}: {failure.kind}: {cause}")


def _shorten(message: str, most: int) -> str:
    return printable(one_line(redact(message), most))
