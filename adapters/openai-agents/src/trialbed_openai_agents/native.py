"""The program in the SDK's documentation for one agent that answers one question with tools.

From openai-agents 0.24.0 and its documentation, https://openai.github.io/openai-agents-python/;
docs/reference/frameworks.md says why, if that offers several ways.

* Agent and instructions: quickstart/, "Create your first agent" and "Run your first agent".
* Tools: tools/, "Custom function tools": a ``FunctionTool`` per JSON Schema, strict by default. The page has errors
  handled in ``on_invoke_tool``; the text for the model is the SDK's own.
* A schema without a strict form: the SDK's error asks for a tool that is not strict.
* Model: models/, the Responses API by ``OpenAIResponsesModel``, which is the default and recommended there; its client
  has the endpoint. If an endpoint has no Responses, Trialbed's gateway translates.
* A conversation: sessions/, an ``SQLiteSession`` in memory with each new message.
* Sampling: models/, ``ModelSettings``; Responses have no seed. Tracing off: tracing/.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from agents import (
    Agent,
    FunctionTool,
    Model,
    ModelSettings,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    UserError,
    default_tool_error_function,
)
from agents.tool_context import ToolContext
from openai import AsyncOpenAI

from trialbed import Answer, BaseAgent, Tool
from trialbed_openai_agents._reading import read_run


class NativeAgent(BaseAgent):
    """One ``agents.Agent`` per trial."""

    contract = "3"
    converses = True
    dialect = "responses"

    @classmethod
    def framework_version(cls) -> str:
        """Return the SDK's version."""
        return version("openai-agents")

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Build the agent."""
        endpoint = self.endpoint
        self._apis = {tool.name: tool.api for tool in tools}
        self._session = None
        if self.has_turns:
            from agents import SQLiteSession  # older releases lack it

            self._session = SQLiteSession("trial")
        self._client = AsyncOpenAI(base_url=endpoint.base_url, api_key=endpoint.api_key)
        self._agent = Agent(
            name="Assistant",
            instructions=self.system_prompt,
            tools=[function_tool(tool) for tool in tools],
            model=self.chat_model(self._client),
            model_settings=self.settings(),
        )

    async def answer(self, query: str) -> Answer:
        """Run the agent."""
        settings = RunConfig(tracing_disabled=True)
        result = await Runner.run(self._agent, query, run_config=settings, session=self._session)
        return read_run(result, self._apis)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def settings(self) -> ModelSettings:
        """Return the trial's settings; Responses have no seed."""
        return ModelSettings(temperature=self.endpoint.temperature, max_tokens=self.endpoint.max_tokens)

    def chat_model(self, client: AsyncOpenAI) -> Model:
        """Return the trial's model, of the SDK's class for it."""
        return OpenAIResponsesModel(model=self.endpoint.model, openai_client=client)


def function_tool(tool: Tool) -> FunctionTool:
    """Return the SDK's tool, which is strict unless the SDK has no strict form of the schema."""

    async def call(context: ToolContext[Any], arguments: str) -> str:
        try:
            return await tool.ainvoke(json.loads(arguments))
        except Exception as error:  # noqa: BLE001 - as the documentation has it
            return default_tool_error_function(context, error)

    try:
        return FunctionTool(tool.name, tool.description, tool.parameters, call)
    except UserError:
        return FunctionTool(tool.name, tool.description, tool.parameters, call, strict_json_schema=False)
