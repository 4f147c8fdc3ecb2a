"""Behaviour: requests, parallel calls, settings and limits."""

from __future__ import annotations

from trialbed.engine import new_trial_token
from trialbed.records import Limits, Record
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.fidelity.measurements._parallel import Parallel, measure_parallel
from trialbed_adapter_lab.fidelity.measurements._settings import Settings, measure_settings
from trialbed_adapter_lab.fidelity.measurements._turns import PolicyRequests, measure_refusals, measure_turns
from trialbed_adapter_lab.fidelity.reading import Requests
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


class Behaviour(Record):
    """The behaviour of a framework.

    Attributes:
        turns: requests for each policy of the scripted model. ``refusals``: for an endpoint that refuses.
        settings: None if they could not be read; ``settings_reason`` says why.
    """

    turns: tuple[PolicyRequests, ...]
    refusals: tuple[PolicyRequests, ...]
    parallel: Parallel
    settings: Settings | None
    settings_reason: str = ""
    step_limit: StepLimit
    time_limit: TimeLimit

    @property
    def requests(self) -> list[Requests]:
        """The requests of every policy whose requests could be counted."""
        return [policy.requests for policy in self.turns if policy.requests is not None]

    def requests_after(self, status: str) -> int | None:
        """Return how many requests followed a refusal with this status, itself included; None if that is not known."""
        found = next((refusal.requests for refusal in self.refusals if refusal.policy == status), None)
        return None if found is None else found.seen


async def measure_behaviour(harness: WorkerHarness, tools: int) -> Behaviour:
    """Run every scenario of behaviour.

    Raises:
        NotMeasured: every trial failed.
    """
    turns = await measure_turns(harness, tools)
    if all(policy.ended for policy in turns):
        raise NotMeasured(turns[0].ended)
    settings, reason = None, ""
    try:
        settings = await measure_settings(harness, tools)
    except NotMeasured as error:
        reason = str(error)
    return Behaviour(
        turns=turns,
        settings=settings,
        settings_reason=reason,
        parallel=await measure_parallel(harness, tools),
        step_limit=await measure_step_limit(harness, tools),
        refusals=await measure_refusals(harness, tools),
        # Last, since its worker may have to be killed.
        time_limit=await measure_time_limit(harness),
    )
