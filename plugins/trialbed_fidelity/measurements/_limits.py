"""Whether a framework keeps the limits of a trial."""

from __future__ import annotations

from trialbed.engine import new_trial_token
from trialbed.records import Limits, Record
from trialbed_fidelity.harness import SLOW, Rig, Scene, stations

MAX_STEPS = 5
TIMEOUT = 1.5
CALLS = 8
"""Calls, one per turn, of an Api that takes half a second: more than fit into the time limit."""


class StepLimit(Record):
    """What a framework did with a model that never stops calling tools.

    Attributes:
        limit: model requests allowed.
        requests: model requests made.
        ended: how the trial failed; empty if it ended by itself.
        answered: whether it ended with an answer for the user, which no model had given.
    """

    limit: int
    requests: int
    ended: str = ""
    answered: bool = False


class TimeLimit(Record):
    """What a framework did when its time was up.

    Attributes:
        limit: seconds allowed.
        seconds: seconds it ran.
        killed: whether the rig had to end it.
        ended: how the trial failed; empty if it ended by itself.
    """

    limit: float
    seconds: float
    killed: bool
    ended: str = ""


async def measure_step_limit(rig: Rig, framework: str, tools: int) -> StepLimit:
    """Play a model that never stops."""
    limits = Limits(max_steps=MAX_STEPS, timeout=60.0)
    seen = await rig.play(framework, Scene(world=stations(tools, 1), model="scripted:loop", limits=limits))
    answer = seen.outcome.answer
    return StepLimit(
        limit=MAX_STEPS,
        requests=len(seen.wire.model_calls),
        ended=seen.failure,
        answered=answer is not None and bool(answer.final_answer),
    )


async def measure_time_limit(rig: Rig, framework: str) -> TimeLimit:
    """Play a trial that takes more than twice the time there is."""
    limits = Limits(max_steps=CALLS + 1, timeout=TIMEOUT)
    world = stations(CALLS, CALLS, mark=new_trial_token())
    seen = await rig.play(framework, Scene(world=world, simulator=SLOW, limits=limits))
    failure = seen.outcome.failure
    killed = failure is not None and failure.kind == "timeout"
    return TimeLimit(limit=TIMEOUT, seconds=seen.outcome.wall_time, killed=killed, ended=seen.failure)
