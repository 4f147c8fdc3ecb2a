"""The messages between the harness and a probe: one JSON object per line.

::

    harness                          probe
    (start)                      →
                                 ←   Loaded             the adapter is loaded; if it cannot be, the probe says why
    Round                        →                      on standard error, and ends
                                 ←   Measured
    (end of input)               →   the probe ends
"""

from __future__ import annotations

from trialbed.records import Record, TrialSpec

TICK = 0.005
"""Seconds between the moments at which the event loop is checked for delays."""


class Loaded(Record):
    """The cost of loading the adapter, since the process was started.

    Attributes:
        cpu: seconds of processor time.
        rss: bytes resident.
    """

    cpu: float
    rss: int


class Round(Record):
    """Trials to run, and how many of them at a time."""

    specs: tuple[TrialSpec, ...]
    concurrency: int


class TrialRun(Record):
    """One trial of a round: seconds from making the agent to having closed it, and why it failed, if it did."""

    trial: str
    seconds: float
    failure: str = ""


class Measured(Record):
    """One round as the probe's process saw it.

    Attributes:
        wall: seconds from the first trial's beginning to the last one's end.
        cpu: seconds of processor time of all the process's threads.
        longest_lag: the most seconds by which the event loop was late, at moments ``TICK`` apart. ``lag_p95``: the
            95th percentile.
        threads: the most threads seen. ``rss``: bytes resident at the end. ``peak_rss``: the most so far, of the
            process's whole life; None if the system does not report it.
    """

    trials: tuple[TrialRun, ...]
    wall: float
    cpu: float
    longest_lag: float
    lag_p95: float
    threads: int
    rss: int
    peak_rss: int | None
