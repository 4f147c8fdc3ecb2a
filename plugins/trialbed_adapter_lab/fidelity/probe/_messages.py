"""The messages between the harness and a probe: one JSON object per line.

::

    harness                              probe
    (start)                          →
                                     ←   ready {…}          the adapter is loaded
                                     ←   failed {message}   or it is not; the probe ends
    round {specs, concurrency}       →
                                     ←   measured {…}
    (end of input)                   →   the probe ends
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from trialbed.records import Record, TrialSpec

TICK = 0.005
"""Seconds between the moments at which the event loop is checked for delays."""


class Round(Record):
    """Run these trials, so many at a time."""

    specs: tuple[TrialSpec, ...]
    concurrency: int


class Loaded(Record):
    """The adapter is loaded; with what that took, since the process was started.

    Attributes:
        cpu: seconds of processor time.
        rss: bytes resident.
    """

    type: Literal["ready"] = "ready"
    version: str
    cpu: float
    rss: int
    threads: int


class LoadFailed(Record):
    """The adapter cannot be used."""

    type: Literal["failed"] = "failed"
    message: str


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
        lags: by how many seconds the event loop was late, at moments ``TICK`` apart: the longest and the 95th
            percentile.
        ticks: how many such moments there were.
        threads: the most threads seen. ``rss``: bytes resident at the end. ``peak_rss``: the most so far, of the
            process's whole life.
    """

    type: Literal["measured"] = "measured"
    trials: tuple[TrialRun, ...]
    wall: float
    cpu: float
    longest_lag: float
    lag_p95: float
    ticks: int
    threads: int
    rss: int
    peak_rss: int | None


ProbeReply = Annotated[Loaded | LoadFailed | Measured, Field(discriminator="type")]
"""A line from the probe."""

_REPLIES: TypeAdapter[Loaded | LoadFailed | Measured] = TypeAdapter(ProbeReply)


def read_probe_reply(line: bytes) -> Loaded | LoadFailed | Measured:
    """Return the reply in a line.

    Raises:
        ValueError: the line is not a reply.
    """
    return _REPLIES.validate_json(line)
