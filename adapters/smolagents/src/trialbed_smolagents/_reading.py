"""Reads the memory of an agent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from smolagents import ActionStep, Tool
from smolagents.tools import validate_tool_arguments

from trialbed import Usage


def action_steps(steps: Sequence[Any]) -> list[ActionStep]:
    """Return the steps of an agent's memory that asked the model."""
    return [step for step in steps if isinstance(step, ActionStep)]


def asked_calls(step: ActionStep) -> Iterator[Any]:
    """Yield the calls of a step; of several with one id, smolagents takes the last alone."""
    message = step.model_output_message
    yield from {call.id: call for call in (message.tool_calls if message else None) or ()}.values()


def claimed_usage(steps: Sequence[ActionStep]) -> Usage | None:
    """Return the tokens of all steps; None if one came without."""
    total = Usage()
    for step in steps:
        spent = step.token_usage
        if spent is None:
            return None
        total += Usage(prompt_tokens=spent.input_tokens, completion_tokens=spent.output_tokens)
    return total


def takes(tool: Tool, arguments: Any) -> bool:
    """Return whether smolagents calls a tool with these arguments."""
    try:
        validate_tool_arguments(tool, arguments)
    except (ValueError, TypeError, LookupError):
        return False
    return isinstance(arguments, dict)
