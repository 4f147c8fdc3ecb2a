"""The stage: plays trials of one adapter against a scripted model and scripted Apis."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TypedDict, Unpack
from urllib.parse import urlsplit

import httpx

from trialbed._closing import Closing
from trialbed.contracts import BaseAgent
from trialbed.records import Limits, ModelEndpoint, TrialKey, TrialSpec
from trialbed_adapter_kit._footprint import surroundings
from trialbed_adapter_kit._network import NetworkWatch
from trialbed_adapter_kit._recording import Play
from trialbed_adapter_kit._scene import Scene
from trialbed_adapter_kit._script import Line
from trialbed_adapter_kit._server import HOST, Server
from trialbed_adapter_kit._tools import StageTool, tool
from trialbed_adapter_kit._trial import StageTrial

QUERY = "What does the parrot say?"
SYSTEM_PROMPT = "You are on a stage. Use the tools; then answer in plain text."
KEY = "stage-key"
MODEL = "stage-model"
MAX_STEPS = 8
PATIENCE = 30.0
"""Seconds that a trial may take; it needs a few hundredths, but machines can be slow."""


class Conditions(TypedDict, total=False):
    """What a trial on the stage is played with, where the usual is not wanted.

    Attributes:
        tools: what the agent is offered; usually one that returns its arguments.
        base_url: of the model's endpoint, where it is not to be the stage's.
        patience: seconds that the trial may take.
    """

    tools: Sequence[StageTool]
    query: str
    system_prompt: str
    max_steps: int
    model: str
    temperature: float
    max_tokens: int | None
    seed: int
    base_url: str
    patience: float


class Stage(Closing):
    """Where trials of one adapter are played. Use it as a context manager, or close it.

    The model and the Apis are served by a thread of their own; the adapter runs on the caller's event loop,
    through the same code as in a worker. Trials may be played at the same time.

    Args:
        agent_class: the adapter.
        network: watches who else is talked to; give one that was entered before the adapter was imported,
            if imports are to be watched too.

    Attributes:
        surroundings: what trials must not change, as it was before the first.
        client: what the tools of all trials send with, as in a worker; if None, each trial has its own.
    """

    def __init__(self, agent_class: type[BaseAgent], network: NetworkWatch | None = None) -> None:
        self.agent_class = agent_class
        self.surroundings = surroundings()
        self._network = network or NetworkWatch().__enter__()
        self.client: httpx.AsyncClient | None = None
        self._endpoints: list[tuple[str, int]] = []
        self._server = Server()

    @property
    def is_async(self) -> bool:
        """Whether the adapter answers on the event loop; else it runs in a thread, which cannot be cancelled."""
        return inspect.iscoroutinefunction(self.agent_class.answer)

    @property
    def strays(self) -> tuple[str, ...]:
        """Requests to the stage's server that belong to no trial, as ``METHOD path``."""
        return tuple(self._server.strays)

    def contacts(self) -> list[str]:
        """Everybody whom this process looked up or connected to, apart from the stage and the endpoints it named."""
        return self._network.contacts((HOST, self._server.port), *self._endpoints)

    def prepare(self, *script: Line, **conditions: Unpack[Conditions]) -> StageTrial:
        """A trial that is ready to be played.

        Args:
            script: what the model says, request by request.
            conditions: as ``Conditions`` names them.
        """
        tools = conditions.get("tools", (tool(),))
        limits = Limits(max_steps=conditions.get("max_steps", MAX_STEPS), timeout=conditions.get("patience", PATIENCE))
        if "base_url" in conditions:
            self._endpoints.append(_address(conditions["base_url"]))
        scene = Scene(script, tools, max_steps=limits.max_steps)
        url = self._server.add(scene)
        spec = TrialSpec(
            trial=url.rpartition("/")[2],
            key=TrialKey(framework=self.agent_class.__name__, query_id="stage"),
            query=conditions.get("query", QUERY),
            system_prompt=conditions.get("system_prompt", SYSTEM_PROMPT),
            tools=tuple(sorted((item.spec for item in tools), key=lambda spec: spec.name)),
            endpoint=_endpoint(url, conditions),
            limits=limits,
            server_url=f"{url}/virtual",
        )
        return StageTrial(self.agent_class, scene, spec, self.client)

    async def play(self, *script: Line, **conditions: Unpack[Conditions]) -> Play:
        """Play one trial with a fresh agent; the arguments are those of ``prepare``.

        Raises:
            CheckFailed: the trial does not end.
        """
        return await self.prepare(*script, **conditions).play()

    def clear(self) -> None:
        """Break off whatever is still being answered, and forget all trials."""
        self._server.clear()

    def close(self) -> None:
        """Stop the server, and watch the network no more."""
        self._server.close()
        self._network.__exit__(None, None, None)


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or {"https": 443}.get(parts.scheme, 80)


def _endpoint(url: str, conditions: Conditions) -> ModelEndpoint:
    return ModelEndpoint(
        base_url=conditions.get("base_url", f"{url}/v1"),
        api_key=KEY,
        model=conditions.get("model", MODEL),
        temperature=conditions.get("temperature", 0.0),
        max_tokens=conditions.get("max_tokens"),
        seed=conditions.get("seed", 0),
    )
