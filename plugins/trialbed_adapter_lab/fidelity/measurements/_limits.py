"""The limits of a trial: how a framework keeps them."""

from __future__ import annotations

from trialbed.engine import new_trial_token
from trialbed.records import Limits, Record
from trialbed_adapter_lab.harness import SLOW, WorkerHarness, stations

MAX_STEPS = 5
TIMEOUT = 1.5
CALLS = 8
"""Calls, one per turn, of an Api that takes half a second: more than fit into the time limit."""


class StepLimit(Record):
    """A framework's behaviour with a model that never stops calling tools.

    Attributes:
        limit: model requests allowed.
        requests: model requests made. ``refused``: those past the limit, which the gateway refused.
        ended: how the trial failed; empty if it ended by itself.
        answered: whether it ended with an answer for the user, although no model gave one.
    """

    limit: int
    requests: int
    refused: int = 0
    ended: str = ""
    answered: bool = False


class TimeLimit(Record):
    """A framework's behaviour when its time is over.

    Attributes:
        limit: seconds allowed.
        seconds: seconds it ran.
        killed: whether its worker had to be killed.
        ended: how the trial failed; empty if it ended by itself.
    """

    limit: float
    seconds: float
    killed: bool
    ended: str = ""


async def measure_step_limit(harness: WorkerHarness, tools: int) -> StepLimit:
    """Run a trial whose model never stops."""
    limits = Limits(max_steps=MAX_STEPS, timeout=60.0)
    seen = await harness.run(stations(tools, 1, model="scripted:loop", limits=limits))
    answer = seen.answer
    refused = sum(request.refused for request in seen.requests)
    return StepLimit(
        limit=MAX_STEPS,
        requests=len(seen.requests) - refused,
        refused=refused,
        ended=seen.ended,
        answered=answer is not None and bool(answer.final_answer),
    )


async def measure_time_limit(harness: WorkerHarness) -> TimeLimit:
    """Run a trial that takes more than twice its time limit."""
    limits = Limits(max_steps=CALLS + 1, timeout=TIMEOUT)
    seen = await harness.run(stations(CALLS, CALLS, new_trial_token(), simulator=SLOW, limits=limits))
    failure = seen.failure
    killed = failure is not None and failure.kind == "timeout"
    return TimeLimit(limit=TIMEOUT, seconds=seen.outcome.wall_time, killed=killed, ended=seen.ended)
