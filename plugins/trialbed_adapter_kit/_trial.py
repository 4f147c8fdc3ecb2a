"""A trial on the stage: the adapter's end of a scene."""

from __future__ import annotations

import asyncio
import ssl
import time

import httpx

from trialbed.contracts import BaseAgent
from trialbed.records import Outcome, TrialSpec
from trialbed.tools import TOOL_TIMEOUT
from trialbed.worker import Trial
from trialbed_adapter_kit._check import CheckFailed
from trialbed_adapter_kit._recording import ModelRequest, Play, ToolCall
from trialbed_adapter_kit._scene import Scene


class StageTrial:
    """A trial that can be played once. What the stage sees of it can be read while it is played.

    Args:
        client: what the tools send with; if None, the trial has a client of its own.

    Attributes:
        spec: what a worker would be given.
    """

    def __init__(
        self, agent_class: type[BaseAgent], scene: Scene, spec: TrialSpec, client: httpx.AsyncClient | None
    ) -> None:
        self.spec = spec
        self._client = client
        self._agent_class = agent_class
        self._scene = scene

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        """The requests to the model so far."""
        return tuple(self._scene.requests)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of Apis so far."""
        return tuple(self._scene.calls)

    @property
    def open_connections(self) -> int:
        """Connections to the model that the adapter has not closed."""
        return self._scene.open_connections

    async def play(self) -> Play:
        """Play it.

        Raises:
            CheckFailed: it does not end.
        """
        begun = time.perf_counter()
        if self._client is not None:
            outcome = await self._outcome(self._client)
        else:
            async with tool_client() as client:
                outcome = await self._outcome(client)
        return Play(
            answer=outcome.answer,
            failure=outcome.failure,
            requests=self.requests,
            calls=self.calls,
            strays=tuple(self._scene.strays),
            connections=self._scene.connections,
            wall=time.perf_counter() - begun,
        )

    async def _outcome(self, client: httpx.AsyncClient) -> Outcome:
        trial = Trial(self.spec, _nobody_forks)
        try:
            async with asyncio.timeout(self.spec.limits.timeout) as limit:
                return await trial.run(self._agent_class, client)
        except (Exception, SystemExit) as error:
            if limit.expired():
                raise CheckFailed(self._endless()) from error
            return trial.failed(error)

    def _endless(self) -> str:
        return (
            f"expected the trial to end; seen: it still ran after {self.spec.limits.timeout:g} s, "
            f"{len(self.requests)} model requests and {len(self.calls)} calls"
        )


def _nobody_forks() -> None:
    """A worker ends a fork of itself here; the stage's process is not the kit's to end."""


def tool_client() -> httpx.AsyncClient:
    """What the tools send with. The stage needs no certificates, and loading them takes longer than a trial."""
    return httpx.AsyncClient(timeout=TOOL_TIMEOUT, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
