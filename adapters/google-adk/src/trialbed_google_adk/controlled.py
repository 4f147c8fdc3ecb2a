"""The controlled profile, with ADK's loop and the requests that are the same for all frameworks."""

from __future__ import annotations

from collections.abc import Sequence
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

from trialbed import Answer
from trialbed_controlled import ControlledChat, ControlledProfile
from trialbed_google_adk._reading import claimed_usage, count_turns, final_text, made_calls


class ControlledAgent(ControlledProfile):
    """One agent per trial."""

    distribution = "google-adk"
    _runner: InMemoryRunner | None = None

    async def answer(self, query: str) -> Answer:
        """Run the agent.

        Raises:
            ModelFailed: the model could not be reached or refused.
        """
        chat, client = self.begin(query)
        agent = Agent(
            name="agent",
            model=OpenAILlm(model=self.endpoint.model, client=client),
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
        await super().close()


class SealedTool(BaseTool):
    """A tool of ADK; the trial's conversation makes its calls."""

    def __init__(self, name: str, chat: ControlledChat) -> None:
        super().__init__(name=name, description="")
        self._chat = chat

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, parameters_json_schema=dict(self._chat.schema))

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> str:  # noqa: ARG002 - ADK's names
        """Make the call."""
        return await self._chat.make(args)


def _read(events: Sequence[Event], chat: ControlledChat, text: str) -> Answer:
    made = ((str(call.name), call.args, result) for call, result in made_calls(events))
    return chat.answer(text, made, usage=claimed_usage(events), turns=count_turns(events))
