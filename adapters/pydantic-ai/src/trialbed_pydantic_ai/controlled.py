"""The controlled profile, with Pydantic AI's loop and the requests that are the same for all frameworks."""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType

from pydantic_ai import Agent, Tool, UsageLimitExceeded, UsageLimits, capture_run_messages
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers.openai import OpenAIProvider

from trialbed import Answer
from trialbed_controlled import ControlledChat, ControlledProfile
from trialbed_pydantic_ai._reading import claimed_usage, made_calls, responses

ENOUGH = 1_000_000
"""Wrong calls that Pydantic AI answers before it ends the run."""

NO_TAGS = ("\0", "\0")
"""The marks of a model's thoughts in its text, which is kept whole."""


class ControlledAgent(ControlledProfile):
    """One agent per trial."""

    distribution = "pydantic-ai-slim"

    async def answer(self, query: str) -> Answer:
        """Run the agent.

        Raises:
            ModelFailed: the model could not be reached or refused.
        """
        chat, client = self.begin(query)
        # An output that may be nothing makes an empty message the end; else the model would be asked again.
        agent = Agent(
            OpenAIChatModel(
                self.endpoint.model,
                provider=OpenAIProvider(openai_client=client),
                profile=ModelProfile(thinking_tags=NO_TAGS),
            ),
            output_type=[str, NoneType],
            tools=[_bind(tool.name, chat) for tool in self.tools],
            retries=ENOUGH,
        )
        with capture_run_messages() as messages:
            try:
                result = await agent.run(query, usage_limits=UsageLimits(request_limit=self.limits.max_steps))
            except UsageLimitExceeded:
                return _read(messages, chat, "")
        return _read(messages, chat, result.output or "")


def _bind(name: str, chat: ControlledChat) -> Tool[None]:
    async def call(call: str, text: str) -> str:
        return await chat.make({"call": call, "text": text})

    return Tool.from_schema(call, name, None, dict(chat.schema))


def _read(messages: Sequence[ModelMessage], chat: ControlledChat, text: str) -> Answer:
    made = ((call.tool_name, call.args_as_dict(), result) for call, result in made_calls(messages))
    return chat.answer(text, made, usage=claimed_usage(messages), turns=len(responses(messages)))
