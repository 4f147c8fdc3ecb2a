"""The rig that fidelity is measured on: the real server and real workers, one trial at a time."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from trialbed.contracts import Executor
from trialbed.drivers import load_driver
from trialbed.engine import DUMMY_KEY, ControlClient, RunOptions, new_trial_token, server
from trialbed.prompts import SYSTEM_PROMPT
from trialbed.records import (
    Environment,
    ModelEndpoint,
    Outcome,
    Timing,
    TrialKey,
    TrialRegistration,
    TrialSpec,
    WireLog,
)
from trialbed.results import compute_timing
from trialbed_fidelity._not_measured import NotMeasured
from trialbed_fidelity.harness._refusing import refusing_endpoint
from trialbed_fidelity.harness._scenes import Scene

REASON = 500
"""Characters shown of why something failed."""


@dataclass(frozen=True)
class Observed:
    """A trial that was played, as the server saw it."""

    scene: Scene
    outcome: Outcome
    wire: WireLog

    @property
    def timing(self) -> Timing:
        """Whom the trial waited for."""
        return compute_timing(self.outcome.wall_time, self.wire)

    @property
    def failure(self) -> str:
        """Why the trial failed, empty if it did not."""
        failure = self.outcome.failure
        return f"{failure.kind}: {failure.message}"[:REASON] if failure else ""

    def checked(self) -> Observed:
        """This trial, if it can be measured.

        Raises:
            NotMeasured: it failed, or nothing was asked of the model.
        """
        if self.outcome.failure is not None:
            raise NotMeasured(self.failure)
        if not self.wire.model_calls:
            raise NotMeasured("no request came to the model")
        return self


class Rig:
    """The rig that scenes are played on.

    Args:
        refusing: URL of an endpoint that refuses every request, for models named ``refuse-<status>``.
    """

    def __init__(self, control: ControlClient, executor: Executor, refusing: str) -> None:
        self._control = control
        self._executor = executor
        self._refusing = refusing

    async def play(self, framework: str, scene: Scene) -> Observed:
        """Play a scene before a fresh agent of this framework; its failure is a part of what is observed."""
        spec = self.spec(framework, scene)
        await self.open(spec, scene)
        try:
            outcome = await self._executor.execute(spec)
        finally:
            wire = await self.close(spec)
        return Observed(scene, outcome, wire)

    def spec(self, framework: str, scene: Scene) -> TrialSpec:
        """A new trial of this scene."""
        trial = new_trial_token()
        root = f"{self._control.url}/t/{trial}"
        return TrialSpec(
            trial=trial,
            key=TrialKey(framework=framework, query_id="fidelity"),
            query=scene.query,
            system_prompt=SYSTEM_PROMPT,
            tools=scene.world.tools,
            endpoint=ModelEndpoint(
                base_url=f"{root}/v1",
                api_key=DUMMY_KEY,
                model=scene.model,
                temperature=scene.temperature,
                max_tokens=scene.max_tokens,
                seed=scene.seed,
            ),
            limits=scene.limits,
            server_url=f"{root}/virtual",
        )

    async def open(self, spec: TrialSpec, scene: Scene) -> None:
        """Open a trial on the server."""
        scripted = scene.model.startswith("scripted:")
        await self._control.open_trial(
            TrialRegistration(
                trial=spec.trial,
                model=scene.model,
                base_url=None if scripted else self._refusing,
                tools=scene.world.tools,
                apis=scene.world.apis,
                script=scene.world.script,
                simulator=scene.simulator,
                seed=scene.seed,
            )
        )

    async def close(self, spec: TrialSpec) -> WireLog:
        """Close a trial; what the server saw of it."""
        return await self._control.close_trial(spec.trial)


@asynccontextmanager
async def open_rig(environments: Mapping[str, Environment], executor: str) -> AsyncIterator[tuple[Rig, Executor]]:
    """A rig with a server and a response cache of its own, both gone afterwards; its executor is to be entered.

    Raises:
        NothingMeasured: the server does not start.
        DriverError: the executor cannot be used.
    """
    driver = cast("type[Executor]", load_driver("executors", executor))
    with tempfile.TemporaryDirectory(prefix="trialbed-fidelity-") as folder:
        async with refusing_endpoint() as url:
            # No variable has an empty name: the endpoint that refuses is sent nobody's key.
            options = RunOptions(base_url=url, api_key_env="", response_cache=Path(folder) / "responses.db")
            async with server(options) as control:
                workers = driver(environments=environments)
                yield Rig(control, workers, url), workers
