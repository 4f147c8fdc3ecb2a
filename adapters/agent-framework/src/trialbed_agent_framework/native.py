"""The program in the Microsoft Agent Framework's documentation for one agent that answers one question with tools.

From agent-framework-core 1.23.0 with agent-framework-openai 1.17.0 and their documentation,
https://learn.microsoft.com/agent-framework/; docs/reference/frameworks.md says why, if that offers
several ways.

* Agent, instructions and run: "Your first agent", ``Agent(client=, instructions=, tools=)`` and ``await agent.run()``.
* Tools: ``FunctionTool`` with a JSON Schema as ``input_model``; its docstring says what of it is checked.
* Model: "OpenAI agents", ``OpenAIChatCompletionClient``, for broad support of models; its arguments have the endpoint.
* A conversation: "Multi-Turn Conversations", a session of the agent with each new message.
* Sampling: ``default_options``, each only if it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from agent_framework import Agent, AgentResponse, FunctionTool
from agent_framework.openai import OpenAIChatCompletionClient

from trialbed import Answer, BaseAgent, ClaimedCall, Tool, finish_of
from trialbed_agent_framework._reading import claimed_usage, made_calls, turns


class NativeAgent(BaseAgent):
    """One ``agent_framework.Agent`` per trial."""

    contract = "3"
    converses = True

    @classmethod
    def framework_version(cls) -> str:
        """Return the framework's version."""
        return version("agent-framework-core")

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Build the agent."""
        endpoint = self.endpoint
        self._apis = {tool.name: tool.api for tool in tools}
        self._client = OpenAIChatCompletionClient(
            model=endpoint.model, base_url=endpoint.base_url, api_key=endpoint.api_key
        )
        options: Any = endpoint.given("temperature", "max_tokens", "seed")
        self._agent = Agent(
            client=self._client,
            instructions=self.system_prompt,
            tools=[bind_tool(tool) for tool in tools],
            default_options=options,
        )
        self._session = self._agent.create_session() if self.has_turns else None

    async def answer(self, query: str) -> Answer:
        """Run the agent; what the framework raises is raised."""
        return self._read(await self._agent.run(query, session=self._session))

    async def close(self) -> None:
        """Close the connections."""
        client = self._client.client
        if client is not None:
            await client.close()

    def _read(self, response: AgentResponse[Any]) -> Answer:
        calls = (
            ClaimedCall(name=name, api=self._apis[name], arguments=dict(call.parse_arguments() or {}), response=text)
            for call, text in made_calls(response.messages)
            if (name := str(call.name)) in self._apis
        )
        return Answer(
            final_answer=response.text,
            calls=tuple(calls),
            finish=finish_of(response.text),
            usage=claimed_usage(response),
            model_turns=turns(response.messages),
        )


def bind_tool(tool: Tool) -> FunctionTool:
    """Return a function tool that calls the trial's tool."""

    async def call(**arguments: Any) -> str:
        return await tool.ainvoke(arguments)

    return FunctionTool(name=tool.name, description=tool.description, func=call, input_model=dict(tool.parameters))
