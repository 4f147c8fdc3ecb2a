"""The program in Pydantic AI's documentation for one agent that answers one question with tools.

From pydantic-ai 2.68.0 and its documentation, https://pydantic.dev/docs/ai/; docs/reference/frameworks.md
says why, if that offers several ways.

* Agent, instructions and run: agents/, ``Agent(model, instructions=, tools=)`` and ``await agent.run(query)``.
* Tools: ``Tool.from_schema``, for a function with a given JSON Schema; its docstring says that arguments are then not
  validated.
* A conversation: core-concepts/message-history, ``message_history=`` with all messages of the runs before.
* Model: models/openai/, "OpenAI-compatible Models": ``OpenAIChatModel`` with a provider that has the endpoint.
* Sampling: agents/, "Model run settings": ``model_settings``, each only if it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from pydantic_ai import Agent, Tool
from pydantic_ai.agent import AgentRunResult
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from trialbed import Answer, BaseAgent, ClaimedCall, finish_of
from trialbed import Tool as TrialTool
from trialbed_pydantic_ai._reading import claimed_usage, made_calls


class NativeAgent(BaseAgent):
    """One ``pydantic_ai.Agent`` per trial."""

    contract = "3"
    converses = True
    _history: Sequence[ModelMessage] | None = None

    @classmethod
    def framework_version(cls) -> str:
        """Pydantic AI's version."""
        return version("pydantic-ai-slim")

    def bind_tools(self, tools: Sequence[TrialTool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Build the agent."""
        endpoint = self.endpoint
        self._apis = {tool.name: tool.api for tool in tools}
        self._provider = OpenAIProvider(base_url=endpoint.base_url, api_key=endpoint.api_key)
        settings: Any = endpoint.given("temperature", "max_tokens", "seed")  # a TypedDict
        self._agent = Agent(
            OpenAIChatModel(endpoint.model, provider=self._provider),
            instructions=self.system_prompt,
            tools=[bind_tool(tool) for tool in tools],
            model_settings=settings,
        )

    async def answer(self, query: str) -> Answer:
        """Run the agent; what Pydantic AI raises is raised."""
        result = await self._agent.run(query, message_history=self._history)
        self._history = result.all_messages()
        return self._read(result)

    async def close(self) -> None:
        """Close the connections."""
        await self._provider.client.close()

    def _read(self, result: AgentRunResult[str]) -> Answer:
        messages = result.new_messages()
        calls = (
            ClaimedCall(
                name=call.tool_name, api=self._apis[call.tool_name], arguments=call.args_as_dict(), response=text
            )
            for call, text in made_calls(messages)
        )
        return Answer(
            final_answer=result.output,
            calls=tuple(calls),
            finish=finish_of(result.output),
            usage=claimed_usage(messages),
            model_turns=result.usage.requests,
        )


def bind_tool(tool: TrialTool) -> Tool[None]:
    """Return a tool of Pydantic AI that calls the trial's tool."""

    async def call(**arguments: Any) -> str:
        return await tool.ainvoke(arguments)

    return Tool.from_schema(call, tool.name, tool.description, dict(tool.parameters))
