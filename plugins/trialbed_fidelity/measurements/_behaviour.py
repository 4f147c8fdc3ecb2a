"""How a framework behaves: requests, parallel calls, settings and limits."""

from __future__ import annotations

from trialbed.records import Record
from trialbed_fidelity._not_measured import NotMeasured
from trialbed_fidelity.harness import Rig
from trialbed_fidelity.measurements._limits import StepLimit, TimeLimit, measure_step_limit, measure_time_limit
from trialbed_fidelity.measurements._parallel import Parallel, measure_parallel
from trialbed_fidelity.measurements._settings import Settings, measure_settings
from trialbed_fidelity.measurements._turns import PolicyRequests, measure_refusals, measure_turns


class Behaviour(Record):
    """What was observed.

    Attributes:
        turns: requests for each policy of the scripted model. ``refusals``: for an endpoint that refuses.
        settings: None where they could not be told; ``settings_reason`` says why.
    """

    turns: tuple[PolicyRequests, ...]
    refusals: tuple[PolicyRequests, ...]
    parallel: Parallel
    settings: Settings | None
    settings_reason: str = ""
    step_limit: StepLimit
    time_limit: TimeLimit


async def measure_behaviour(rig: Rig, framework: str, tools: int) -> Behaviour:
    """Play every scene of behaviour.

    Raises:
        NotMeasured: not even the plainest trial came to an end.
    """
    turns = await measure_turns(rig, framework, tools)
    if all(policy.ended for policy in turns):
        raise NotMeasured(turns[0].ended)
    settings, reason = None, ""
    try:
        settings = await measure_settings(rig, framework, tools)
    except NotMeasured as error:
        reason = str(error)
    return Behaviour(
        turns=turns,
        settings=settings,
        settings_reason=reason,
        parallel=await measure_parallel(rig, framework, tools),
        step_limit=await measure_step_limit(rig, framework, tools),
        refusals=await measure_refusals(rig, framework, tools),
        # Last, since it may cost the worker.
        time_limit=await measure_time_limit(rig, framework),
    )
