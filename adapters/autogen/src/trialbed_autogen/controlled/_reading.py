"""Reads the messages of a run as an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from autogen_core.models import RequestUsage

from trialbed import Answer, ApiRef, ClaimedCall, Usage, finish_of

Message = BaseAgentEvent | BaseChatMessage


def read_messages(messages: Sequence[Message], apis: Mapping[str, ApiRef]) -> Answer:
    """The answer that the messages of a run give.

    Args:
        apis: tool name -> Api.
    """
    text = _final_text(messages[-1])
    usages = [message.models_usage for message in messages if message.models_usage is not None]
    return Answer(
        final_answer=text,
        calls=tuple(_calls(messages, apis)),
        finish=finish_of(text),
        usage=_total(usages),
        model_turns=len(usages),
    )


def _final_text(last: Message) -> str:
    """The model's last text; at the step limit AutoGen ends with another message, which repeats the tools' results."""
    return last.content if isinstance(last, TextMessage) else ""


def _calls(messages: Sequence[Message], apis: Mapping[str, ApiRef]) -> Iterator[ClaimedCall]:
    """The calls that were made, in the model's order: those whose result is not AutoGen's own error."""
    requested: ToolCallRequestEvent | None = None
    for message in messages:
        if isinstance(message, ToolCallRequestEvent):
            requested = message
        elif isinstance(message, ToolCallExecutionEvent) and requested is not None:
            for call, result in zip(requested.content, message.content, strict=True):
                if not result.is_error:
                    yield ClaimedCall(
                        name=call.name,
                        api=apis.get(call.name),
                        arguments=json.loads(call.arguments),
                        response=result.content,
                    )


def _total(usages: Sequence[RequestUsage]) -> Usage | None:
    """The tokens of all responses; None if one of them came without."""
    total = Usage()
    for usage in usages:
        if not usage.prompt_tokens + usage.completion_tokens:
            return None
        total += Usage(prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens)
    return total
