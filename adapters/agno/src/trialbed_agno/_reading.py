"""Reads the claims of Agno's run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agno.run.agent import RunOutput

from trialbed import ApiRef, ClaimedCall, Usage


def claimed_calls(output: RunOutput, apis: Mapping[str, ApiRef]) -> Iterator[ClaimedCall]:
    """Yield the calls that were made, in the model's order.

    Args:
        apis: tool name -> Api.
    """
    for tool in output.tools or []:
        if not tool.tool_call_error:
            name = tool.tool_name or ""
            yield ClaimedCall(
                name=name, api=apis.get(name), arguments=tool.tool_args or {}, response=str(tool.result or "")
            )


def claimed_usage(output: RunOutput) -> Usage | None:
    """Return the run's tokens; None if Agno counted none, for example because the model reports none."""
    metrics = output.metrics
    if metrics is None or not (metrics.input_tokens or metrics.output_tokens):
        return None
    return Usage(prompt_tokens=metrics.input_tokens, completion_tokens=metrics.output_tokens)
