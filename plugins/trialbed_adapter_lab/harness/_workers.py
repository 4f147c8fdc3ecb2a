"""The harness of fidelity: the real server and real workers, one trial at a time, and an endpoint that errs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

from trialbed.contracts import SYSTEM_PROMPT, Executor, LostTrial
from trialbed.drivers import load_driver
from trialbed.engine import DUMMY_KEY, ControlClient, new_trial_token, server
from trialbed.files import temporary_folder
from trialbed.preparation import RunOptions
from trialbed.records import (
    COMMON_NAME,
    ApiCall,
    ApiRef,
    Environment,
    ModelCall,
    ModelEndpoint,
    Outcome,
    Timing,
    TrialKey,
    TrialRegistration,
    TrialSpec,
    WireLog,
)
from trialbed.tools import reply_text
from trialbed.wire import recorded_answer, recorded_request
from trialbed.wire.dialects import CHAT
from trialbed.wire_log import compute_timing
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.harness._endpoint import erring_endpoint
from trialbed_adapter_lab.harness._oracle import Oracle
from trialbed_adapter_lab.harness._records import ObservedCall, ObservedRequest, TrialRecord
from trialbed_adapter_lab.harness._scenarios import Scenario
from trialbed_scripted import ReceivedRequest, Turn

REASON = 500
"""Characters of a failure's reason that are shown."""


@dataclass(frozen=True, kw_only=True)
class Observed(TrialRecord):
    """A trial that a worker ran, as the server saw it.

    Attributes:
        wire: the server's log, of which ``requests`` and ``calls`` are read. It has no headers and no connections, and
            of the requests that are not put to a model only those for vectors.
    """

    scenario: Scenario
    wire: WireLog

    @classmethod
    def of_log(cls, scenario: Scenario, spec: TrialSpec, outcome: Outcome, wire: WireLog) -> Observed:
        """Return the trial whose requests and calls a log has."""
        names = {tool.api: tool.name for tool in spec.tools}
        return cls(
            scenario=scenario,
            spec=spec,
            outcome=outcome,
            wire=wire,
            requests=tuple(_request(number, call, spec) for number, call in enumerate(wire.model_calls)),
            calls=tuple(_call(number, call, names) for number, call in enumerate(wire.api_calls)),
            strays=("POST /v1/embeddings",) * len(wire.embedding_calls),
        )

    @property
    def timing(self) -> Timing:
        """The trial's time, split by the parts that it waited for."""
        return compute_timing(self.outcome.wall_time, self.wire)

    @property
    def ended(self) -> str:
        """The reason why the trial failed, empty if it did not."""
        failure = self.outcome.failure
        return f"{failure.kind}: {failure.message}"[:REASON] if failure else ""

    def require_success(self) -> Observed:
        """Return this trial, if it can be measured.

        Raises:
            NotMeasured: it failed, or sent no request to the model.
        """
        if self.outcome.failure is not None:
            raise NotMeasured(self.ended)
        if not self.requests:
            raise NotMeasured("no request reached the model")
        return self


@dataclass(frozen=True)
class WorkerHarness:
    """Runs scenarios with one framework.

    Attributes:
        framework: its label.
        oracle: looks at every trial that ``run`` runs, as far as the server's log has it.
    """

    control: ControlClient
    executor: Executor
    framework: str = ""
    oracle: Oracle = field(default_factory=Oracle)

    async def run(self, scenario: Scenario) -> Observed:
        """Run a scenario with a new agent; a failure is observed like anything else."""
        spec = self.spec(scenario)
        await self.open(spec, scenario)
        try:
            found = await self.executor.execute(spec)
            outcome = found.outcome() if isinstance(found, LostTrial) else found
        finally:
            wire = await self.control.close_trial(spec.trial)
        seen = Observed.of_log(scenario, spec, outcome, wire)
        self.oracle.look(seen)
        return seen

    def spec(self, scenario: Scenario) -> TrialSpec:
        """Return a new trial of this scenario."""
        return TrialSpec.at(
            f"{self.control.url}/t/{new_trial_token()}",
            ModelEndpoint(
                base_url="",
                api_key=DUMMY_KEY,
                model=COMMON_NAME,
                temperature=scenario.temperature,
                max_tokens=scenario.max_tokens,
                seed=scenario.seed,
            ),
            key=TrialKey(framework=self.framework, query_id="fidelity"),
            query=scenario.query,
            system_prompt=SYSTEM_PROMPT,
            tools=scenario.tools,
            limits=scenario.limits,
        )

    async def open(self, spec: TrialSpec, scenario: Scenario) -> None:
        """Open a trial on the server."""
        await self.control.open_trial(
            TrialRegistration(
                trial=spec.trial,
                model=scenario.model,
                model_name=COMMON_NAME,
                tools=scenario.tools,
                apis=scenario.apis,
                script=scenario.script,
                simulator=scenario.simulator,
                seed=scenario.seed,
                limits=scenario.limits,
            )
        )


@asynccontextmanager
async def open_worker_harness(
    environments: Mapping[str, Environment],
) -> AsyncIterator[tuple[WorkerHarness, Executor]]:
    """Yield a harness with a server and a response cache of its own, and its executor, which the caller enters.

    Raises:
        NothingMeasured: the server does not start.
    """
    driver = cast("type[Executor]", load_driver("executors", "local"))
    with temporary_folder() as folder:
        async with erring_endpoint() as erring:
            # No variable has an empty name: the endpoint that errs is sent no key.
            # Nothing is repeated for a framework here: its own reaction to a failure is measured.
            options = RunOptions(
                base_url=erring.url,
                api_key_env="",
                response_cache=folder / "responses.db",
                model_retries=0,
                endpoint_patience=0,
            )
            async with server(options) as control:
                workers = driver(environments=environments)
                yield WorkerHarness(control, workers), workers


def _request(number: int, call: ModelCall, spec: TrialSpec) -> ObservedRequest:
    """Return a request to the model, as far as the log keeps it."""
    body, request, problem = call.request.encode(), recorded_request(call), ""
    if len(body) != call.request_bytes:
        problem = f"the wire log keeps {len(body):,} of the request's {call.request_bytes:,} bytes"
    elif request is None:
        problem = "the request's body is not a JSON object"
    received = ReceivedRequest(
        number, {} if request is None else request.document, body, dialect=call.dialect or CHAT, problem=problem
    )
    return ObservedRequest(
        number=number,
        started=call.started,
        ended=call.started + call.duration,
        received=received,
        tools=spec.tools,
        refused=call.limit is not None,
        usage=call.usage,
        said=_read_turn(call),
    )


def _read_turn(call: ModelCall) -> Turn | None:
    """Return the model's message, if the log has all of it."""
    if call.status != 200 or len(call.response.encode()) != call.response_bytes:
        return None
    reading = recorded_answer(call)
    if reading.problem is not None:
        return None
    return Turn(text=reading.answer.text or None, calls=reading.answer.calls)


def _call(number: int, call: ApiCall, names: Mapping[ApiRef, str]) -> ObservedCall:
    return ObservedCall(
        number=number,
        started=call.started,
        ended=call.started + call.duration,
        tool=names.get(call.api, ""),
        arguments=call.arguments,
        reply=reply_text({"error": call.error, "response": call.response}) if call.status == 200 else None,
    )
