"""The agent: ``agno.agent.Agent`` with the trial's settings."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version

from agno.agent import Agent
from agno.exceptions import ModelProviderError
from agno.run.base import RunStatus

from trialbed import Answer, BaseAgent, Deviation, Limits, ModelEndpoint, ModelFailed, Tool
from trialbed_agno.controlled._logs import silence_agno
from trialbed_agno.controlled._model import BoundedChat, open_client
from trialbed_agno.controlled._reading import read_run
from trialbed_agno.controlled._tools import RawFunction


class ControlledAgent(BaseAgent):
    """One Agno agent, without a session store, per trial."""

    contract = "3"
    deviations = (
        Deviation(
            text="takes the model's reasoning in <think> tags, and what precedes it, out of the conversation and "
            "out of the answer (not in its oldest releases)",
            upstream="https://github.com/agno-agi/agno/pull/6654",
        ),
    )

    def __init__(self, endpoint: ModelEndpoint, limits: Limits, *, system_prompt: str) -> None:
        super().__init__(endpoint, limits, system_prompt=system_prompt)
        silence_agno()
        self._client = open_client(endpoint, limits)
        self._model = BoundedChat(endpoint, limits, self._client)

    @classmethod
    def framework_version(cls) -> str:
        """Agno's version."""
        return version("agno")

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Build the agent."""
        self._apis = {tool.name: tool.api for tool in tools}
        self._model.order = [tool.name for tool in tools]
        self._agent = Agent(
            model=self._model,
            tools=[RawFunction.of(tool) for tool in tools],
            system_message=self.system_prompt,
            resolve_in_context=False,
            telemetry=False,
        )

    async def answer(self, query: str) -> Answer:
        """Run the agent.

        Raises:
            ModelFailed: the model could not be reached or refused.
            RuntimeError: Agno failed; it returns its own errors as answers.
        """
        # Old releases of Agno raise the error of a request, newer ones return it as the answer.
        with suppress(ModelProviderError):
            output = await self._agent.arun(query)
        if self._model.error is not None:
            raise ModelFailed(self._model.reason) from self._model.error
        if output.status is not RunStatus.completed:
            raise RuntimeError(f"Agno's run ended as {output.status.value}: {output.content}")
        return read_run(output, self._apis, stopped=self._model.stopped)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
