"""Deadlines and wall times of trials, on the engine's own clock."""

from __future__ import annotations

from collections.abc import Callable

HELD_UP = 1.0
"""Seconds between two checks, more than asked for, after which this process is taken to have been held up."""


class Deadline:
    """A number of seconds, not counting time in which this process did not run.

    A process that is stopped, or that gets no processor, cannot see a worker's work meanwhile, so that time is
    not the worker's. It shows as a gap between checks that is longer than they ask for.

    Args:
        seconds: how many.
        interval: seconds between two calls of ``check``.
        now: the clock, in seconds.

    Attributes:
        held: seconds in which this process did not run.
    """

    def __init__(self, seconds: float, interval: float, now: Callable[[], float]) -> None:
        self._now = now
        self._interval = interval
        self._checked = now()
        self._end = self._checked + seconds
        self._excused = 0.0
        self.held = 0.0

    @property
    def left(self) -> float:
        """Seconds until the deadline; 0 or less once it has passed."""
        return self._end - self._now()

    def check(self) -> None:
        """Move the deadline if this process was held up since the last check."""
        now = self._now()
        excess = now - self._checked - self._interval
        self._checked = now
        if excess > HELD_UP:
            self.held += excess
            self.extend(excess)

    def excuse(self, total: float) -> None:
        """Move the deadline so that this many seconds since the beginning do not count."""
        self.extend(max(0.0, total - self._excused))
        self._excused = max(total, self._excused)

    def extend(self, seconds: float) -> None:
        """Move the deadline by this many seconds."""
        self._end += seconds


class Stopwatch:
    """The wall time of one trial, from the arrival of the worker's messages.

    Args:
        now: the clock, in seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.reset()

    def reset(self) -> None:
        """Start the clock of another trial as the worker is asked to begin it."""
        self._told = self._now()
        self._began: float | None = None
        self._ended: float | None = None

    def start(self) -> None:
        """The agent's work begins; later calls change nothing."""
        if self._began is None:
            self._began = self._now()

    def stop(self) -> None:
        """The agent's work has ended; later calls change nothing."""
        if self._began is not None and self._ended is None:
            self._ended = self._now()

    @property
    def since_end(self) -> float | None:
        """Seconds since the work ended; None while it goes on."""
        return None if self._ended is None else self._now() - self._ended

    def seconds(self, held: float = 0.0, claimed: float = 0.0) -> float:
        """The seconds between start and stop, or until now; 0 if the work never began.

        A message that is read late makes the time that was measured too short if it is the first, and too long if it is
        the last. The worker's own figure counts as far as this explains it.

        Args:
            held: seconds in which this process did not run. The last message may have arrived in them.
            claimed: the worker's own figure. It may be longer than the measured time, since the work can have begun as
                soon as the worker was asked; shorter only by ``held``.
        """
        if self._began is None:
            return 0.0
        ended = self._now() if self._ended is None else self._ended
        return max(ended - self._began - held, min(claimed, ended - self._told), 0.0)
