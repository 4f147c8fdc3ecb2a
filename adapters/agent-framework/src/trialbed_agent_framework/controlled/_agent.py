"""The agent: ``agent_framework.Agent`` on the trial's client."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from agent_framework import Agent, AgentResponse, FunctionTool
from agent_framework.exceptions import ChatClientException
from agent_framework.openai import OpenAIChatCompletionClient

from trialbed import Answer, BaseAgent, ControlledChat, ModelFailed, Tool, finish_of
from trialbed_agent_framework._reading import claimed_usage, made_calls, turns
from trialbed_agent_framework.controlled._client import TrialClient, open_client

ENOUGH = 1_000_000
"""Turns of wrong calls after which the framework would end its loop."""


class ControlledAgent(BaseAgent):
    """One agent per trial."""

    contract = "3"
    _client: TrialClient | None = None

    @classmethod
    def framework_version(cls) -> str:
        """The framework's version."""
        return version("agent-framework-core")

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
            client=OpenAIChatCompletionClient(
                model=self.endpoint.model,
                async_client=self._client,
                function_invocation_configuration={
                    "max_iterations": self.limits.max_steps,
                    "max_consecutive_errors_per_request": ENOUGH,
                },
            ),
            tools=[_bind(tool.name, chat) for tool in self.tools],
        )
        try:
            response = await agent.run(query)
        except ChatClientException as error:
            if isinstance(error.__cause__, ModelFailed):
                raise error.__cause__ from None
            raise
        return _read(response, chat)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()


def _bind(name: str, chat: ControlledChat) -> FunctionTool:
    async def call(call: str, text: str) -> str:
        return await chat.make({"call": call, "text": text})

    return FunctionTool(name=name, func=call, input_model=dict(chat.schema))


def _read(response: AgentResponse[Any], chat: ControlledChat) -> Answer:
    """The answer that a run gives: the last message's text, unless the last turn that is allowed had calls."""
    claims = (chat.claim(str(call.name), call.parse_arguments(), text) for call, text in made_calls(response.messages))
    messages, text = response.messages, response.messages[-1].text if response.messages else ""
    return Answer(
        final_answer="" if chat.was_cut_off else text,
        calls=tuple(claim for claim in claims if claim is not None),
        finish=None if chat.was_cut_off else finish_of(text),
        usage=claimed_usage(response),
        model_turns=turns(messages) - chat.was_cut_off,
    )
