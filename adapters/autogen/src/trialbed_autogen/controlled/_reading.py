"""Reads the messages of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from autogen_core.models import RequestUsage

from trialbed import Usage

Message = BaseAgentEvent | BaseChatMessage


def final_text(last: Message) -> str:
    """The model's last text; at the step limit AutoGen ends with another message, which repeats the tools' results."""
    return last.content if isinstance(last, TextMessage) else ""


def made_calls(messages: Sequence[Message]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Name, arguments and result of each call, in the model's order, whose result is not AutoGen's own error."""
    requested: ToolCallRequestEvent | None = None
    for message in messages:
        if isinstance(message, ToolCallRequestEvent):
            requested = message
        elif isinstance(message, ToolCallExecutionEvent) and requested is not None:
            for call, result in zip(requested.content, message.content, strict=True):
                if not result.is_error:
                    yield call.name, json.loads(call.arguments), result.content


def total_usage(usages: Sequence[RequestUsage]) -> Usage | None:
    """The tokens of all responses; None if one of them came without."""
    total = Usage()
    for usage in usages:
        if not usage.prompt_tokens + usage.completion_tokens:
            return None
        total += Usage(prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens)
    return total
