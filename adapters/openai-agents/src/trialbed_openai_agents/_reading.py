"""Reads a run's result as an answer."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents import RunErrorDetails, RunResult, ToolCallItem, ToolCallOutputItem
from agents.items import RunItem

from trialbed import Answer, ApiRef, ClaimedCall, Usage, finish_of


def read_run(run: RunResult, apis: Mapping[str, ApiRef]) -> Answer:
    """Return the answer of a run; only calls of an offered tool with arguments that can be passed on count.

    Args:
        apis: tool name -> Api.
    """
    text = str(run.final_output)
    calls = (
        ClaimedCall(name=name, api=apis[name], arguments=arguments, response=response)
        for name, arguments, response in made_calls(run.new_items)
        if name in apis and arguments is not None
    )
    return Answer(
        final_answer=text,
        calls=tuple(calls),
        finish=finish_of(text),
        usage=claimed_usage(run),
        model_turns=count_turns(run),
    )


def made_calls(items: Sequence[RunItem]) -> Iterator[tuple[str, dict[str, Any] | None, str]]:
    """Name, arguments and result of each call, in the model's order; None for arguments that are not a JSON object."""
    outputs = _outputs(items)
    for item in items:
        if isinstance(item, ToolCallItem):
            call: Any = item.raw_item
            waiting = outputs[call.call_id]
            yield call.name, _arguments(call.arguments), str(waiting.popleft()) if waiting else ""


def count_turns(run: RunResult | RunErrorDetails) -> int:
    """Return the number of the model's messages."""
    return max(run.context_wrapper.usage.requests, len(run.raw_responses))


def _outputs(items: Sequence[RunItem]) -> Mapping[str, deque[Any]]:
    """Return the results of the calls by call id; outputs under a repeated id are in the order of the calls."""
    outputs: defaultdict[str, deque[Any]] = defaultdict(deque)
    for item in items:
        if isinstance(item, ToolCallOutputItem):
            raw: Any = item.raw_item
            outputs[raw["call_id"]].append(item.output)
    return outputs


def claimed_usage(run: RunResult | RunErrorDetails) -> Usage | None:
    """Return the tokens of all responses; None if one came without."""
    if any(response.usage.total_tokens == 0 for response in run.raw_responses):
        return None
    total = run.context_wrapper.usage
    return Usage(prompt_tokens=total.input_tokens, completion_tokens=total.output_tokens)


def _arguments(text: str) -> dict[str, Any] | None:
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else None
