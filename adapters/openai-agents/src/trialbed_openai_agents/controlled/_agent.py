"""The agent: one ``agents.Agent`` run by ``agents.Runner``, with the trial's settings."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from agents import (
    Agent,
    AgentsException,
    MaxTurnsExceeded,
    ModelBehaviorError,
    ModelRefusalError,
    OpenAIChatCompletionsModel,
    RunConfig,
    Runner,
)

from trialbed import Answer, BaseAgent, Limits, ModelEndpoint, Tool
from trialbed_openai_agents._reading import read_run
from trialbed_openai_agents.controlled._model import model_settings, open_client
from trialbed_openai_agents.controlled._tools import function_tool


class ControlledAgent(BaseAgent):
    """One agent per trial."""

    contract = "3"

    def __init__(self, endpoint: ModelEndpoint, limits: Limits, *, system_prompt: str) -> None:
        super().__init__(endpoint, limits, system_prompt=system_prompt)
        self._client = open_client(endpoint, limits)

    @classmethod
    def framework_version(cls) -> str:
        """The SDK's version."""
        return version("openai-agents")

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Build the agent."""
        self._apis = {tool.name: tool.api for tool in tools}
        self._agent = Agent(
            name="agent",
            instructions=self.system_prompt,
            tools=[function_tool(tool) for tool in tools],
            model=OpenAIChatCompletionsModel(self.endpoint.model, self._client),
            model_settings=model_settings(self.endpoint),
        )

    async def answer(self, query: str) -> Answer:
        """Run the agent.

        Raises:
            ModelFailed: the model could not be reached or refused.
        """
        try:
            result = await Runner.run(
                self._agent,
                query,
                max_turns=self.limits.max_steps,
                run_config=RunConfig(tracing_disabled=True, tool_not_found_behavior="return_error_to_model"),
            )
        except (MaxTurnsExceeded, ModelRefusalError, ModelBehaviorError) as error:
            if error.run_data is None or not self._is_an_end(error):
                raise
            answer = read_run(error.run_data, self._apis)
            # The tokens of a response that the SDK does not take are in no count of its own.
            return answer.model_copy(update={"usage": None}) if isinstance(error, ModelBehaviorError) else answer
        return read_run(result, self._apis, text=str(result.final_output))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _is_an_end(self, error: AgentsException) -> bool:
        """Return whether the run ended without an answer: at its step limit, with a refusal, or cut off early."""
        return self._client.cut_short or not isinstance(error, ModelBehaviorError)
