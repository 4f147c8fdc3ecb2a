"""Reads a run's result as an answer."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents import RunErrorDetails, RunResult, ToolCallItem, ToolCallOutputItem
from agents.items import RunItem

from trialbed import Answer, ApiRef, ClaimedCall, Usage, finish_of


def read_run(run: RunResult | RunErrorDetails, apis: Mapping[str, ApiRef], text: str = "") -> Answer:
    """The answer that a run gives.

    Args:
        apis: tool name -> Api.
        text: the final output; empty if the run ended without one.
    """
    return Answer(
        final_answer=text,
        calls=tuple(_calls(run.new_items, apis)),
        finish=finish_of(text),
        usage=_usage(run),
        model_turns=max(run.context_wrapper.usage.requests, len(run.raw_responses)),
    )


def _calls(items: Sequence[RunItem], apis: Mapping[str, ApiRef]) -> Iterator[ClaimedCall]:
    """The calls that were made, in the model's order: those of an offered tool with arguments that can be passed on."""
    outputs = _outputs(items)
    for item in items:
        if isinstance(item, ToolCallItem):
            call: Any = item.raw_item
            waiting = outputs[call.call_id]
            response = str(waiting.popleft()) if waiting else ""
            arguments = arguments_of(call.arguments)
            if call.name in apis and arguments is not None:
                yield ClaimedCall(name=call.name, api=apis[call.name], arguments=arguments, response=response)


def _outputs(items: Sequence[RunItem]) -> Mapping[str, deque[Any]]:
    """The results of the calls by call id; outputs under a repeated id are in the order of the calls."""
    outputs: defaultdict[str, deque[Any]] = defaultdict(deque)
    for item in items:
        if isinstance(item, ToolCallOutputItem):
            raw: Any = item.raw_item
            outputs[raw["call_id"]].append(item.output)
    return outputs


def _usage(run: RunResult | RunErrorDetails) -> Usage | None:
    """The tokens of all responses; None if one of them came without."""
    if any(response.usage.total_tokens == 0 for response in run.raw_responses):
        return None
    total = run.context_wrapper.usage
    return Usage(prompt_tokens=total.input_tokens, completion_tokens=total.output_tokens)


def arguments_of(text: str) -> dict[str, Any] | None:
    """The arguments of a call; None if they are not a JSON object."""
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else None
