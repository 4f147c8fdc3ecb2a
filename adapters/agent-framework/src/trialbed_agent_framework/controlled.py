"""The controlled profile, with the framework's loop and the requests that are the same for all frameworks."""

from __future__ import annotations

from typing import Any

from agent_framework import Agent, AgentResponse, FunctionTool
from agent_framework.exceptions import ChatClientException
from agent_framework.openai import OpenAIChatCompletionClient

from trialbed import Answer, ModelFailed
from trialbed_agent_framework._reading import claimed_usage, made_calls, turns
from trialbed_controlled import ControlledChat, ControlledProfile

ENOUGH = 1_000_000
"""Turns of wrong calls after which the framework would end its loop."""


class ControlledAgent(ControlledProfile):
    """One agent per trial."""

    distribution = "agent-framework-core"
    ends_with_request = True

    async def answer(self, query: str) -> Answer:
        """Run the agent.

        Raises:
            ModelFailed: the model could not be reached or refused.
        """
        chat, client = self.begin(query)
        agent = Agent(
            client=OpenAIChatCompletionClient(
                model=self.endpoint.model,
                async_client=client,
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


def _bind(name: str, chat: ControlledChat) -> FunctionTool:
    async def call(call: str, text: str) -> str:
        return await chat.make({"call": call, "text": text})

    return FunctionTool(name=name, func=call, input_model=dict(chat.schema))


def _read(response: AgentResponse[Any], chat: ControlledChat) -> Answer:
    """Return the answer of a run, which is the last message's text, unless the last allowed turn had calls."""
    messages = response.messages
    made = ((str(call.name), call.parse_arguments(), result) for call, result in made_calls(messages))
    text = messages[-1].text if messages else ""
    return chat.answer(text, made, usage=claimed_usage(response), turns=turns(messages) - chat.was_cut_off)
