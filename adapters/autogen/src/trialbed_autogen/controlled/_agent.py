"""The agent: AgentChat's ``AssistantAgent`` with the trial's settings."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken

from trialbed import Answer, BaseAgent, Limits, ModelEndpoint, Tool
from trialbed_autogen.controlled._model import chat_model, open_client
from trialbed_autogen.controlled._reading import read_messages
from trialbed_autogen.controlled._tools import RawWorkbench


class ControlledAgent(BaseAgent):
    """One assistant agent per trial; it keeps its conversation."""

    contract = "3"

    def __init__(self, endpoint: ModelEndpoint, limits: Limits, *, system_prompt: str) -> None:
        super().__init__(endpoint, limits, system_prompt=system_prompt)
        self._client = open_client(endpoint, limits)
        self._cancellation = CancellationToken()

    @classmethod
    def framework_version(cls) -> str:
        """AgentChat's version."""
        return version("autogen-agentchat")

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Build the agent; one iteration of tools is one model request."""
        self._apis = {tool.name: tool.api for tool in tools}
        self._agent = AssistantAgent(
            "agent",
            model_client=chat_model(self.endpoint, self._client),
            workbench=RawWorkbench(tools),
            system_message=self.system_prompt,
            max_tool_iterations=self.limits.max_steps,
            reflect_on_tool_use=False,
        )

    async def answer(self, query: str) -> Answer:
        """Run the agent.

        Raises:
            ModelFailed: the model could not be reached or refused.
        """
        result = await self._agent.run(task=query, cancellation_token=self._cancellation)
        return read_messages(result.messages, self._apis)

    async def close(self) -> None:
        """End the calls that a cancelled run left behind, and close the connections."""
        self._cancellation.cancel()
        await self._client.close()
