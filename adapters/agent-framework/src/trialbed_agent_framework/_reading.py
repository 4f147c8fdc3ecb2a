"""Reads the messages of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agent_framework import AgentResponse, Content, Message

from trialbed import Usage


def made_calls(messages: Sequence[Message]) -> Iterator[tuple[Content, str]]:
    """Return the calls of functions that returned, in the model's order, each with its result."""
    asked: list[Content] = []
    for message in messages:
        returned = [content for content in message.contents if content.type == "function_result"]
        if message.role == "assistant":
            asked = [content for content in message.contents if content.type == "function_call"]
        for call in asked if returned else ():
            # Ids may be equal, and results are in the order of their calls.
            place = next((place for place, one in enumerate(returned) if one.call_id == call.call_id), None)
            if place is not None and (result := returned.pop(place)).exception is None:
                yield call, str(result.result or "")


def turns(messages: Sequence[Message]) -> int:
    """Return the number of the model's messages."""
    return sum(message.role == "assistant" for message in messages)


def claimed_usage(response: AgentResponse[Any]) -> Usage | None:
    """Return the tokens of the run; None if the framework has no count."""
    spent = response.usage_details or {}
    prompt, completion = spent.get("input_token_count"), spent.get("output_token_count")
    if prompt is None or completion is None:
        return None
    return Usage(prompt_tokens=prompt, completion_tokens=completion)
