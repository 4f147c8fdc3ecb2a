"""Reads the result of the native profile as an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crewai.crews.crew_output import CrewOutput
from crewai.lite_agent_output import LiteAgentOutput
from crewai.utilities.string_utils import sanitize_tool_name

from trialbed import Answer, ApiRef, ClaimedCall, Tool, Usage, finish_of


def read_output(output: LiteAgentOutput | CrewOutput, messages: Sequence[Any], tools: Sequence[Tool]) -> Answer:
    """Return the answer that CrewAI gives, with its report of the run.

    Args:
        messages: the agent's conversation.
    """
    spent = output.usage_metrics or {}
    usage = Usage(prompt_tokens=spent.get("prompt_tokens", 0), completion_tokens=spent.get("completion_tokens", 0))
    return Answer(
        final_answer=output.raw,
        calls=tuple(_calls(output, messages, _names(tools))),
        finish=finish_of(output.raw),
        usage=usage if usage.total_tokens else None,
        model_turns=spent.get("successful_requests"),
    )


def drop_nulls(value: Any) -> Any:
    """Return the value without null members, as CrewAI's MCP client sends arguments (crewai/mcp/client.py)."""
    if isinstance(value, dict):
        return {name: drop_nulls(member) for name, member in value.items() if member is not None}
    return [drop_nulls(member) for member in value] if isinstance(value, list) else value


def _calls(
    output: LiteAgentOutput | CrewOutput, messages: Sequence[Any], apis: Mapping[str, ApiRef]
) -> Iterator[ClaimedCall]:
    """Yield the calls in the conversation that CrewAI returns, except the ones it reports as failed."""
    failed = [(failure.tool_name, failure.tool_args) for failure in getattr(output, "tool_failures", ())]
    results = {said["tool_call_id"]: said["content"] for said in messages if said["role"] == "tool"}
    for call in (call for said in messages for call in said.get("tool_calls") or ()):
        name = call["function"]["name"]
        try:
            arguments = json.loads(call["function"]["arguments"])
        except ValueError:
            continue
        if isinstance(arguments, dict) and (name, arguments) not in failed:
            sent, response = drop_nulls(arguments), results.get(call["id"], "")
            yield ClaimedCall(name=name, api=apis.get(name), arguments=sent, response=response)


def _names(tools: Sequence[Tool]) -> dict[str, ApiRef]:
    """Return the Apis by CrewAI's names; of two tools with one name, the second gets ``_2``."""
    apis: dict[str, ApiRef] = {}
    for tool in tools:
        plain = name = sanitize_tool_name(tool.name)
        number = 1
        while name in apis:
            number += 1
            name = sanitize_tool_name(f"{plain}_{number}")
        apis[name] = tool.api
    return apis
