"""Reads the messages of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart

from trialbed import Usage


def made_calls(messages: Sequence[ModelMessage]) -> Iterator[tuple[ToolCallPart, str]]:
    """Return the calls of tools that returned, in the model's order, each with its result."""
    asked: list[ToolCallPart] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            asked = [part for part in message.parts if isinstance(part, ToolCallPart)]
            continue
        returned = {part.tool_call_id: part for part in message.parts if isinstance(part, ToolReturnPart)}
        for call in asked:
            result = returned.get(call.tool_call_id)
            if result is not None and result.outcome == "success":
                yield call, result.model_response_str()


def responses(messages: Sequence[ModelMessage]) -> list[ModelResponse]:
    """Return the model's messages."""
    return [message for message in messages if isinstance(message, ModelResponse)]


def claimed_usage(messages: Sequence[ModelMessage]) -> Usage | None:
    """Return the tokens of all responses; None if one came without."""
    spent = [response.usage for response in responses(messages)]
    if not all(usage.input_tokens or usage.output_tokens for usage in spent):
        return None
    return sum(
        (Usage(prompt_tokens=usage.input_tokens, completion_tokens=usage.output_tokens) for usage in spent), Usage()
    )
