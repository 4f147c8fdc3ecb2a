"""The behaviour of frameworks: their requests, parallel calls and limits, and the user's view of a model that errs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from trialbed.engine import new_trial_token
from trialbed.records import ApiCall, Failure, Limits, ModelCall, Record
from trialbed.wire import recorded_answer, recorded_request
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.fidelity.reading import Requests, explain
from trialbed_adapter_lab.fidelity.traffic import Settings, measure_settings
from trialbed_adapter_lab.harness import (
    FAULTY,
    FAULTY_ANSWERS,
    HUGE_NUMBER,
    INVARIANTS,
    MARK,
    REFUSING,
    SLOW,
    Observed,
    Oracle,
    WorkerHarness,
    right_outcomes,
    stations,
)

CALLS = 3
LIMITS = Limits(max_steps=12, timeout=60.0)
POLICIES = ("gold", "parallel", "none", "wrong-args", "bad-json", "unknown-tool", "retry", "giveup")

REFUSALS = (429, 500)
"""Statuses with which the model's endpoint refuses; frameworks are asked not to retry."""

PARALLEL_CALLS = 10
"""Calls of one turn: more than the workers of a usual pool of threads."""

STEP_LIMITS = Limits(max_steps=5, timeout=60.0)

SLOW_CALLS = 8
"""Calls, one per turn, of an Api that takes half a second: more than fit into the time limit."""

TIME_LIMITS = Limits(max_steps=SLOW_CALLS + 1, timeout=1.5)

ERROR_TOOLS, ERROR_CALLS = 4, 2
TIMEOUT = 60.0
PATIENCE = 20.0
"""Seconds for an answer at which a framework may wait for ever; it has one call to make."""

MOST = 30
"""Requests that a model without end gets; more than any framework's own limit of those that are measured."""

FEW = 3
"""Requests that a trial gets whose limit comes before any framework's own."""

LONGEST = 300
"""Characters of a text, and of a breach, that are kept."""

Seen = Literal["answer", "other text", "error text", "tool result", "empty answer", "exception", "waits", "worker died"]

ENDLESS = Limits(max_steps=MOST, timeout=TIMEOUT)

CASES: dict[str, tuple[str, Limits]] = {
    "arguments that are not JSON": ("scripted:bad-json", ENDLESS),
    **{
        title: (f"{FAULTY}{title}{MARK}", Limits(max_steps=MOST, timeout=PATIENCE if title == HUGE_NUMBER else TIMEOUT))
        for title in FAULTY_ANSWERS
    },
    "arguments against the schema, once": ("scripted:retry", ENDLESS),
    "arguments against the schema, always": ("scripted:wrong-args", ENDLESS),
    "a tool that is not offered": ("scripted:unknown-tool", ENDLESS),
    "a tool that is not needed": ("scripted:extra", ENDLESS),
    "no call at all": ("scripted:none", ENDLESS),
    "gives up after a call": ("scripted:giveup", ENDLESS),
    **{f"status {status} once": (f"{REFUSING}{status}-once{MARK}", ENDLESS) for status in (429, 500)},
    **{f"status {status} always": (f"{REFUSING}{status}", ENDLESS) for status in (429, 500)},
    **{f"status {status}": (f"{REFUSING}{status}", ENDLESS) for status in (400, 401, 403)},
    "calls without end": ("scripted:loop", ENDLESS),
    f"status 403 after {FEW} requests": ("scripted:loop", Limits(max_steps=FEW, timeout=TIMEOUT)),
}
"""Title of a way in which a model errs -> the scenario's model, to which each trial adds a token after ``MARK``."""


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


class ErrorFinding(Record):
    """The view that a user of the framework has of one case.

    Attributes:
        case: its title.
        seen: ``answer``: the model's text; ``other text``: one that is neither the model's nor the next two;
            ``error text``: that of the endpoint's error; ``tool result``: that of a call, which no model has read;
            ``empty answer``: none, and no exception; ``exception``; ``waits``: it did not end, and sent no request.
        exception: the type, with its module as Python writes it; empty where none was raised.
        text: of the answer, or of the exception; cut if it is long.
        told: the result of its call that the model got in the next request; empty if it was not asked again.
        requests: to the model, without those past the trial's limit. ``refused``: those, without which the framework
            would have gone on.
        calls: that reached an Api.
    """

    case: str
    seen: Seen
    exception: str = ""
    text: str = ""
    told: str = ""
    requests: int
    refused: int = 0
    calls: int


class InvariantFinding(Record):
    """One invariant of the kit in the trials of a framework.

    Attributes:
        invariant: its name, as the kit's harness exports it.
        trials: those that were looked at. ``broken``: those in which it did not hold.
        first: the first breach in words; empty if it held in all.
    """

    invariant: str
    trials: int
    broken: int = 0
    first: str = ""


async def measure_behaviour(harness: WorkerHarness, tools: int) -> Behaviour:
    """Run every scenario of behaviour.

    Raises:
        NotMeasured: every trial failed.
    """
    turns = [await _run_policy(harness, policy, tools) for policy in POLICIES]
    if all(policy.ended for policy in turns):
        raise NotMeasured(turns[0].ended)
    settings, reason = None, ""
    try:
        settings = await measure_settings(harness, tools)
    except NotMeasured as error:
        reason = str(error)
    return Behaviour(
        turns=tuple(turns),
        settings=settings,
        settings_reason=reason,
        parallel=await _measure_parallel(harness, tools),
        step_limit=await _measure_step_limit(harness, tools),
        refusals=tuple([await _run_refusal(harness, status, tools) for status in REFUSALS]),
        # Last, since its worker may have to be killed.
        time_limit=await _measure_time_limit(harness),
    )


async def _run_policy(harness: WorkerHarness, policy: str, tools: int) -> PolicyRequests:
    seen = await harness.run(stations(tools, CALLS, model=f"scripted:{policy}", limits=LIMITS))
    return _count_requests(seen, policy, right_outcomes(CALLS, LIMITS.max_steps)[policy][0])


async def _run_refusal(harness: WorkerHarness, status: int, tools: int) -> PolicyRequests:
    seen = await harness.run(stations(tools, CALLS, model=f"{REFUSING}{status}", limits=LIMITS))
    others = {call.status for call in seen.wire.model_calls} - {status}
    reason = f"the gateway answered with {sorted(others)}, not {status}" if others else ""
    return _count_requests(seen, str(status), 1, reason)


def _count_requests(seen: Observed, policy: str, expected: int, reason: str = "") -> PolicyRequests:
    requests = None
    try:
        requests = None if reason else explain(seen.requests, expected)
    except NotMeasured as error:
        reason = str(error)
    sent = sum(call.problem is None for turn in seen.wire.model_calls for call in turn.tool_calls)
    made = len(seen.wire.api_calls)
    return PolicyRequests(
        policy=policy, requests=requests, calls_sent=sent, calls_made=made, ended=seen.ended, reason=reason
    )


async def _measure_parallel(harness: WorkerHarness, tools: int) -> Parallel:
    """Have the model call slow Apis in one turn, and look at when each call was under way."""
    token, tools = new_trial_token(), max(tools, PARALLEL_CALLS)
    scenario = stations(tools, PARALLEL_CALLS, token, model="scripted:parallel", simulator=SLOW)
    seen = await harness.run(scenario)
    return overlap(seen.wire.api_calls, seen.ended)


def overlap(calls: Sequence[ApiCall], ended: str = "") -> Parallel:
    """Return the overlap of these calls."""
    spans = [(call.started, call.started + call.duration) for call in calls]
    return Parallel(
        asked=PARALLEL_CALLS,
        made=len({call.api for call in calls}),
        # The most calls that were under way when one began, itself included.
        at_once=max((sum(begun <= start < done for begun, done in spans) for start, _ in spans), default=0),
        seconds=max(done for _, done in spans) - min(begun for begun, _ in spans) if spans else None,
        longest=max((call.duration for call in calls), default=None),
        ended=ended,
    )


async def _measure_step_limit(harness: WorkerHarness, tools: int) -> StepLimit:
    """Run a trial whose model never stops."""
    seen = await harness.run(stations(tools, 1, model="scripted:loop", limits=STEP_LIMITS))
    refused = sum(request.refused for request in seen.requests)
    return StepLimit(
        limit=STEP_LIMITS.max_steps,
        requests=len(seen.requests) - refused,
        refused=refused,
        ended=seen.ended,
        answered=seen.answer is not None and bool(seen.answer.final_answer),
    )


async def _measure_time_limit(harness: WorkerHarness) -> TimeLimit:
    """Run a trial that takes more than twice its time limit."""
    scenario = stations(SLOW_CALLS, SLOW_CALLS, new_trial_token(), simulator=SLOW, limits=TIME_LIMITS)
    seen = await harness.run(scenario)
    killed = seen.failure is not None and seen.failure.kind == "timeout"
    return TimeLimit(limit=TIME_LIMITS.timeout, seconds=seen.outcome.wall_time, killed=killed, ended=seen.ended)


async def measure_errors(harness: WorkerHarness) -> tuple[ErrorFinding, ...]:
    """Run every case.

    Raises:
        NotMeasured: the framework fails with a model that does not err.
    """
    (await harness.run(stations(ERROR_TOOLS, ERROR_CALLS))).require_success()
    found = []
    for case, (model, limits) in CASES.items():
        model += new_trial_token() if model.endswith(MARK) else ""
        seen = await harness.run(stations(ERROR_TOOLS, ERROR_CALLS, model=model, limits=limits))
        if seen.failure is not None and seen.failure.kind in ("server", "adapter"):
            raise NotMeasured(f"{case}: {seen.ended}")
        found.append(finding_of(case, seen))
    return tuple(found)


def finding_of(case: str, observed: Observed) -> ErrorFinding:
    """Return the user's view of a trial."""
    calls, failure, answer = observed.wire.model_calls, observed.failure, observed.answer
    refused = sum(call.limit is not None for call in calls)
    text = failure.message if failure else answer.final_answer if answer else ""
    return ErrorFinding(
        case=case,
        seen=_classify_failure(failure) if failure else _classify_answer(text, calls),
        exception=exception_type(failure) if failure else "",
        text=text[:LONGEST],
        # The first result of a call of the model's first answer.
        told=next(_results(calls[1:]), "")[:LONGEST],
        requests=len(calls) - refused,
        refused=refused,
        calls=len(observed.wire.api_calls),
    )


def exception_type(failure: Failure) -> str:
    """Return the type of the exception that the agent raised, with its module; empty if it raised none."""
    if failure.kind not in ("agent", "model", "answer", "memory"):
        return ""
    named = re.match(r"([A-Za-z_]\w*)(?::|$)", failure.message)
    found: list[str] = re.findall(
        r"^(?:  \| )*((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?::.*)?$", failure.detail, re.MULTILINE
    )
    exact = [name for name in found if named and name.rpartition(".")[2] == named[1]]
    qualified = [name for name in found if "." in name]
    return (exact or qualified or [named[1] if named else ""])[-1]


def _classify_failure(failure: Failure) -> Seen:
    if failure.kind == "timeout":
        return "waits"
    return "exception" if exception_type(failure) else "worker died"


def _classify_answer(text: str, calls: Sequence[ModelCall]) -> Seen:
    contents = (recorded_answer(call).answer.content for call in calls)
    errors = [(call.status, _error_message(call)) for call in calls]
    if not text.strip():
        return "empty answer"
    if any(said.strip() and said.strip() in text for said in contents if isinstance(said, str)):
        return "answer"
    if any((status >= 400 and text in said) or (said and said in text) for status, said in errors):
        return "error text"
    if any(result.strip() and result.strip() in text for result in _results(calls)):
        return "tool result"
    return "other text"


def _error_message(call: ModelCall) -> str:
    """Return the message of the endpoint's error; empty where there is none."""
    try:
        message = json.loads(call.response)["error"]["message"]
    except (ValueError, TypeError, LookupError):
        return ""
    return message if isinstance(message, str) else ""


def _results(calls: Sequence[ModelCall]) -> Iterator[str]:
    """Yield the results of its calls that the framework sent to the model."""
    requests = (request for call in calls if (request := recorded_request(call)) is not None)
    return (message.text for request in requests for message in request.messages if message.role == "tool")


def invariant_findings(oracle: Oracle) -> tuple[InvariantFinding, ...] | None:
    """Return the findings of an oracle; None if it looked at no trial."""
    if not oracle.trials:
        return None
    return tuple(
        InvariantFinding(
            invariant=invariant.name,
            trials=oracle.trials,
            broken=oracle.broken[invariant.name],
            first="".join(oracle.breaches(invariant.name)[:1])[:LONGEST],
        )
        for invariant in INVARIANTS
    )
