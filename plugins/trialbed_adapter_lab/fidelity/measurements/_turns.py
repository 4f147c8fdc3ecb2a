"""Requests per turn, for models that answer correctly and for models that do not."""

from __future__ import annotations

from trialbed.records import Limits, Record
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.fidelity.reading import Requests, explain
from trialbed_adapter_lab.harness import REFUSING, Observed, WorkerHarness, right_outcomes, stations

CALLS = 3
LIMITS = Limits(max_steps=12, timeout=60.0)

POLICIES = ("gold", "parallel", "none", "wrong-args", "bad-json", "unknown-tool", "retry", "giveup")

REFUSALS = (429, 500)
"""Statuses with which the model's endpoint refuses; frameworks are asked not to retry."""


class PolicyRequests(Record):
    """The requests of one trial.

    Attributes:
        policy: the scripted model's, or the status with which the endpoint refused.
        requests: None if they could not be counted; ``reason`` says why.
        calls_sent: tool calls that the model sent and that can be made. ``calls_made``: those that reached the Apis.
        ended: how the trial failed; empty if it did not.
    """

    policy: str
    requests: Requests | None
    calls_sent: int
    calls_made: int
    ended: str = ""
    reason: str = ""


async def measure_turns(harness: WorkerHarness, tools: int) -> tuple[PolicyRequests, ...]:
    """Run every policy and count requests."""
    return tuple([await _run_policy(harness, policy, tools) for policy in POLICIES])


async def measure_refusals(harness: WorkerHarness, tools: int) -> tuple[PolicyRequests, ...]:
    """Refuse the first request with each status and count requests."""
    return tuple([await _run_refusal(harness, status, tools) for status in REFUSALS])


async def _run_policy(harness: WorkerHarness, policy: str, tools: int) -> PolicyRequests:
    seen = await harness.run(stations(tools, CALLS, model=f"scripted:{policy}", limits=LIMITS))
    return _count_requests(seen, policy, right_outcomes(CALLS, LIMITS.max_steps)[policy][0])


async def _run_refusal(harness: WorkerHarness, status: int, tools: int) -> PolicyRequests:
    seen = await harness.run(stations(tools, CALLS, model=f"{REFUSING}{status}", limits=LIMITS))
    found = _count_requests(seen, str(status), 1)
    others = {call.status for call in seen.wire.model_calls} - {status}
    if not others:
        return found
    return found.model_copy(
        update={"requests": None, "reason": f"the gateway answered with {sorted(others)}, not {status}"}
    )


def _count_requests(seen: Observed, policy: str, expected: int) -> PolicyRequests:
    sent = sum(call.problem is None for turn in seen.wire.model_calls for call in turn.tool_calls)
    found = PolicyRequests(
        policy=policy, requests=None, calls_sent=sent, calls_made=len(seen.wire.api_calls), ended=seen.ended
    )
    try:
        return found.model_copy(update={"requests": explain(seen.requests, expected)})
    except NotMeasured as reason:
        return found.model_copy(update={"reason": str(reason)})
