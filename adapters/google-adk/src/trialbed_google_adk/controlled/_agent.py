"""The agent: ``google.adk.Agent`` on the trial's client."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from google.adk import Agent
from google.adk.agents.invocation_context import LlmCallsLimitExceededError
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event
from google.adk.integrations.openai import OpenAILlm
from google.adk.runners import InMemoryRunner
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from trialbed import Answer, BaseAgent, ControlledChat, Tool, finish_of
from trialbed_google_adk._reading import claimed_usage, count_turns, final_text, made_calls
from trialbed_google_adk.controlled._client import TrialClient, open_client


class ControlledAgent(BaseAgent):
    """One agent per trial."""

    contract = "3"
    _client: TrialClient | None = None
    _runner: InMemoryRunner | None = None

    @classmethod
    def framework_version(cls) -> str:
        """ADK's version."""
        return version("google-adk")

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Keep the tools."""
        self.tools = list(tools)

    async def answer(self, query: str) -> Answer:
        """Run the agent.

        Raises:
            ModelFailed: the model could not be reached or refused.
        """
        chat = ControlledChat(self.endpoint, self.limits, self.tools, system_prompt=self.system_prompt, query=query)
        self._client = open_client(chat, self.endpoint, self.limits)
        agent = Agent(
            name="agent",
            model=OpenAILlm(model=self.endpoint.model, client=self._client),
            tools=[SealedTool(tool.name, chat) for tool in self.tools],
        )
        self._runner = InMemoryRunner(agent=agent, app_name="trial")
        session = await self._runner.session_service.create_session(app_name="trial", user_id="user")
        run = self._runner.run_async(
            user_id="user",
            session_id=session.id,
            new_message=types.UserContent(query),
            run_config=RunConfig(max_llm_calls=self.limits.max_steps),
        )
        events: list[Event] = []
        try:
            async for event in run:
                events.append(event)  # noqa: PERF401 - those before the exception count
        except LlmCallsLimitExceededError:
            return _read(events, chat, "")
        return _read(events, chat, final_text(events))

    async def close(self) -> None:
        """Close the connections."""
        if self._runner is not None:
            await self._runner.close()
        if self._client is not None:
            await self._client.close()


class SealedTool(BaseTool):
    """A tool of ADK whose calls the trial's conversation makes."""

    def __init__(self, name: str, chat: ControlledChat) -> None:
        super().__init__(name=name, description="")
        self._chat = chat

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, parameters_json_schema=dict(self._chat.schema))

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> str:  # noqa: ARG002 - ADK's names
        """Make the call."""
        return await self._chat.make(args)


def _read(events: Sequence[Event], chat: ControlledChat, text: str) -> Answer:
    """The answer that the events of a run give."""
    claims = (chat.claim(str(call.name), call.args, result) for call, result in made_calls(events))
    return Answer(
        final_answer=text,
        calls=tuple(claim for claim in claims if claim is not None),
        finish=finish_of(text),
        usage=claimed_usage(events),
        model_turns=count_turns(events),
    )
