"""Parallel calls: how many of one turn's calls run at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from trialbed.engine import new_trial_token
from trialbed.records import ApiCall, Record
from trialbed_adapter_lab.harness import SLOW, WorkerHarness, stations

CALLS = 10
"""More than the workers of a usual pool of threads."""

Manner = Literal["parallel", "partly parallel", "sequence", "refused"]


class Parallel(Record):
    """Several calls of one turn, each of an Api that takes half a second.

    Attributes:
        asked: calls that the model made in one turn.
        made: calls that reached the Apis.
        at_once: the most that were under way at the same time, at the server.
        seconds: from the first call's beginning to the last one's end, None if none was made.
        longest: seconds of the longest call, None if none was made.
        ended: how the trial failed; empty if it did not.
    """

    asked: int
    made: int
    at_once: int
    seconds: float | None = None
    longest: float | None = None
    ended: str = ""

    @property
    def manner(self) -> Manner:
        """In words; ``refused`` where calls were not made."""
        if self.made < self.asked:
            return "refused"
        if self.at_once == 1:
            return "sequence"
        return "parallel" if self.at_once >= self.asked else "partly parallel"


async def measure_parallel(harness: WorkerHarness, tools: int) -> Parallel:
    """Have the model call slow Apis in one turn, and look at when each call was under way."""
    tools = max(tools, CALLS)
    scenario = stations(tools, CALLS, new_trial_token(), model="scripted:parallel", simulator=SLOW)
    seen = await harness.run(scenario)
    return overlap(seen.wire.api_calls, seen.ended)


def overlap(calls: Sequence[ApiCall], ended: str = "") -> Parallel:
    """Return the overlap of these calls."""
    if not calls:
        return Parallel(asked=CALLS, made=0, at_once=0, ended=ended)
    begun = min(call.started for call in calls)
    done = max(call.started + call.duration for call in calls)
    return Parallel(
        asked=CALLS,
        made=len({call.api for call in calls}),
        at_once=_at_once(calls),
        seconds=done - begun,
        longest=max(call.duration for call in calls),
        ended=ended,
    )


def _at_once(calls: Sequence[ApiCall]) -> int:
    """Return the most calls that were under way at a call's beginning, itself included."""
    return max(sum(other.started <= call.started < other.started + other.duration for other in calls) for call in calls)
