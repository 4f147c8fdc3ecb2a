"""Behaviour: requests, parallel calls, settings and limits."""

from __future__ import annotations

from trialbed.records import Record
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.fidelity.measurements._limits import (
    StepLimit,
    TimeLimit,
    measure_step_limit,
    measure_time_limit,
)
from trialbed_adapter_lab.fidelity.measurements._parallel import Parallel, measure_parallel
from trialbed_adapter_lab.fidelity.measurements._settings import Settings, measure_settings
from trialbed_adapter_lab.fidelity.measurements._turns import PolicyRequests, measure_refusals, measure_turns
from trialbed_adapter_lab.fidelity.reading import Requests
from trialbed_adapter_lab.harness import WorkerHarness


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
