"""The controlled profile, with AutoGen's loop and the requests that are the same for all frameworks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import openai
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from autogen_core import CancellationToken
from autogen_core.models import ModelFamily, ModelInfo, RequestUsage
from autogen_core.tools import TextResultContent, ToolResult, ToolSchema, Workbench
from autogen_ext.models.openai import BaseOpenAIChatCompletionClient

from trialbed import Answer, Usage
from trialbed_controlled import ControlledChat, ControlledProfile


class ControlledAgent(ControlledProfile):
    """One assistant agent per trial; it keeps its conversation."""

    distribution = "autogen-agentchat"
    _cancellation: CancellationToken | None = None

    async def answer(self, query: str) -> Answer:
        """Run the agent; one iteration of tools is one model request.

        Raises:
            ModelFailed: the model could not be reached or refused.
        """
        chat, client = self.begin(query)
        self._cancellation = CancellationToken()
        agent = AssistantAgent(
            "agent",
            model_client=chat_model(self.endpoint.model, client),
            workbench=SealedWorkbench([tool.name for tool in self.tools], chat),
            max_tool_iterations=self.limits.max_steps,
            reflect_on_tool_use=False,
        )
        messages = (await agent.run(task=query, cancellation_token=self._cancellation)).messages
        usages = [message.models_usage for message in messages if message.models_usage is not None]
        return chat.answer(final_text(messages[-1]), made_calls(messages), usage=total_usage(usages), turns=len(usages))

    async def close(self) -> None:
        """End the calls that a cancelled run left behind, and close the connections."""
        if self._cancellation is not None:
            self._cancellation.cancel()
        await super().close()


MODEL_INFO = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=True,
    structured_output=False,
    multiple_system_messages=True,
    family=ModelFamily.GPT_4O,
)
"""The description that AutoGen requires for a model with an unknown name.

The family is not "unknown", since AutoGen would then guess one from the model's name and rewrite the messages
for it; this one leaves them unchanged.
"""


def chat_model(name: str, client: openai.AsyncOpenAI) -> BaseOpenAIChatCompletionClient:
    """Return the trial's model."""
    return BaseOpenAIChatCompletionClient(client, create_args={"model": name}, model_info=MODEL_INFO)


LEFT_OUT = cast(bool, openai.omit)
"""Without ``strict``, which AutoGen would send with every tool."""


class SealedWorkbench(Workbench):
    """The tools of a trial; the trial's conversation makes their calls.

    AutoGen's tools describe their arguments with a pydantic model; a workbench supplies its own schemas.
    """

    def __init__(self, names: Sequence[str], chat: ControlledChat) -> None:
        self._chat = chat
        schema: Any = dict(chat.schema)
        self._schemas = [ToolSchema(name=name, description="", parameters=schema, strict=LEFT_OUT) for name in names]

    async def list_tools(self) -> list[ToolSchema]:
        """Return the tools' schemas, as offered to the model."""
        return self._schemas

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
        call_id: str | None = None,  # noqa: ARG002 - AutoGen's name
    ) -> ToolResult:
        """Make a call."""
        call = asyncio.ensure_future(self._chat.make(arguments or {}))
        if cancellation_token is not None:
            cancellation_token.link_future(call)
        return ToolResult(name=name, result=[TextResultContent(content=await call)])

    async def start(self) -> None:
        """Start nothing."""

    async def stop(self) -> None:
        """Stop nothing."""

    async def reset(self) -> None:
        """Reset nothing."""

    async def save_state(self) -> Mapping[str, Any]:
        """Return an empty state, because a trial's tools keep no state here."""
        return {}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Load nothing, as nothing is saved."""


Message = BaseAgentEvent | BaseChatMessage


def final_text(last: Message) -> str:
    """Return the model's last text; at the step limit AutoGen ends with another message that repeats tools' results."""
    return last.content if isinstance(last, TextMessage) else ""


def made_calls(messages: Sequence[Message]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the name, arguments and result of each call in the model's order, without AutoGen's own errors."""
    requested: ToolCallRequestEvent | None = None
    for message in messages:
        if isinstance(message, ToolCallRequestEvent):
            requested = message
        elif isinstance(message, ToolCallExecutionEvent) and requested is not None:
            for call, result in zip(requested.content, message.content, strict=True):
                if not result.is_error:
                    yield call.name, json.loads(call.arguments), result.content


def total_usage(usages: Sequence[RequestUsage]) -> Usage | None:
    """Return the tokens of all responses; None if one came without."""
    total = Usage()
    for usage in usages:
        if not usage.prompt_tokens + usage.completion_tokens:
            return None
        total += Usage(prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens)
    return total
