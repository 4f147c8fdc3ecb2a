"""The program in the Agent Development Kit's documentation for one agent that answers one question with tools.

From google-adk 2.13.0 and its documentation, https://adk.dev/; docs/reference/frameworks.md says why, if
that offers several ways.

* Agent and instruction: "LLM agents", ``Agent(name=, model=, instruction=, tools=)``.
* The run: "Runtime", ``InMemoryRunner``, a session, and the events of ``run_async``; "Session" for a conversation.
* Tools: "Custom tools", a ``BaseTool`` with the JSON Schema in its declaration, as ADK's own tools from MCP have it.
* Model: ADK's class for "any OpenAI-compatible backend", ``OpenAILlm``, by its docstring.
* Sampling: "LLM agents", ``generate_content_config``, each only if it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from google.adk import Agent
from google.adk.events import Event
from google.adk.integrations.openai import OpenAILlm
from google.adk.models import BaseLlm
from google.adk.runners import InMemoryRunner
from google.adk.sessions import Session
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from openai import AsyncOpenAI

from trialbed import Answer, BaseAgent, ClaimedCall, Deviation, Tool, finish_of
from trialbed_google_adk._reading import claimed_usage, count_turns, final_text, made_calls


class NativeAgent(BaseAgent):
    """One ``google.adk.Agent`` per trial."""

    contract = "3"
    converses = True
    _session: Session | None = None
    _client: AsyncOpenAI | None = None
    deviations = (Deviation(check="seed_is_sent", text="takes a seed, and does not send it to such endpoints"),)

    @classmethod
    def framework_version(cls) -> str:
        """ADK's version."""
        return version("google-adk")

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Build the agent."""
        endpoint = self.endpoint
        self._apis = {tool.name: tool.api for tool in tools}
        agent = Agent(
            name="assistant",
            model=self.chat_model(),
            instruction=self.system_prompt,
            tools=[ApiTool(tool) for tool in tools],
            generate_content_config=types.GenerateContentConfig(
                temperature=endpoint.temperature, max_output_tokens=endpoint.max_tokens, seed=endpoint.seed
            ),
        )
        self._runner = self.runner(agent)

    async def answer(self, query: str) -> Answer:
        """Run the agent; what ADK raises is raised."""
        if self._session is None:
            self._session = await self._runner.session_service.create_session(app_name="trial", user_id="user")
        message = types.UserContent(query)
        run = self._runner.run_async(user_id="user", session_id=self._session.id, new_message=message)
        return self._read([event async for event in run])

    async def close(self) -> None:
        """Close the connections."""
        await self._runner.close()
        if self._client is not None:
            await self._client.close()

    def chat_model(self) -> BaseLlm:
        """Return the trial's model, of ADK's class for it."""
        endpoint = self.endpoint
        self._client = AsyncOpenAI(base_url=endpoint.base_url, api_key=endpoint.api_key)
        return OpenAILlm(model=endpoint.model, client=self._client)

    def runner(self, agent: Agent) -> InMemoryRunner:
        """Return the runner, without plugins."""
        return InMemoryRunner(agent=agent, app_name="trial")

    def _read(self, events: Sequence[Event]) -> Answer:
        text = final_text(events)
        calls = (
            ClaimedCall(name=name, api=self._apis[name], arguments=call.args or {}, response=result)
            for call, result in made_calls(events)
            if (name := str(call.name)) in self._apis
        )
        return Answer(
            final_answer=text,
            calls=tuple(calls),
            finish=finish_of(text),
            usage=claimed_usage(events),
            model_turns=count_turns(events),
        )


class ApiTool(BaseTool):
    """A tool of ADK that calls the trial's tool."""

    def __init__(self, tool: Tool) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._tool = tool

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=dict(self._tool.parameters)
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> str:  # noqa: ARG002 - ADK's names
        """Call the Api."""
        return await self._tool.ainvoke(args)
