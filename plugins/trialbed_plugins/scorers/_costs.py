"""Scores of a trial's cost: tokens, requests and time."""

from __future__ import annotations

import re
from collections.abc import Iterable

from trialbed.records import Failure, Score, Usage, WireLog
from trialbed.scoring import ScoreContext
from trialbed.wire_log import failed, observed_usage, repeated_requests

ASKS_FOR_USAGE = re.compile(r'"include_usage"\s*:\s*true')
"""In the body of a request."""

TOKENS = ("prompt_tokens", "completion_tokens", "total_tokens")


def score_tokens(context: ScoreContext) -> Iterable[Score]:
    """``prompt_tokens``, ``completion_tokens`` and ``total_tokens`` over all model calls, as the model reported them.

    The detail has the framework's own count. Without the usage that the model reports they have no value.
    """
    observed, claimed = observed_usage(context.wire), context.answer.usage
    for part in TOKENS:
        detail = {"claimed": getattr(claimed, part) if claimed else None}
        yield _tokens(part, observed, detail, context.wire)


def _tokens(part: str, observed: Usage | None, detail: dict[str, int | None], wire: WireLog) -> Score:
    if observed is None:
        return Score(name=part, value=None, detail=detail, bounded=False, failure=_unreported_tokens(wire))
    return Score(name=part, value=float(getattr(observed, part)), detail=detail, bounded=False)


def _unreported_tokens(wire: WireLog) -> Failure:
    """Explain why the tokens of the first call without them are unknown: a stream has them only where asked for."""
    calls = enumerate(wire.model_calls, 1)
    place, call = next(((place, call) for place, call in calls if call.usage is None and call.status < 400), (0, None))
    if call is None or not call.stream or ASKS_FOR_USAGE.search(call.request):
        return Failure(kind="model", message="the model did not report the tokens of every call")
    text = f"the agent streamed request {place} without asking for its tokens (stream_options.include_usage)"
    return Failure(kind="agent", message=text)


def score_turns(context: ScoreContext) -> Iterable[Score]:
    """``model_turns``: the requests that the model answered.

    The detail has those that failed, those that repeat an earlier one, and the turns that the framework counted.
    """
    failures = sum(1 for call in context.wire.model_calls if failed(call))
    yield Score(
        name="model_turns",
        value=float(len(context.wire.model_calls) - failures),
        detail={
            "failed": failures,
            "repeated": repeated_requests(context.wire),
            "claimed": context.answer.model_turns,
        },
        bounded=False,
    )


def score_time(context: ScoreContext) -> Iterable[Score]:
    """``wall_time`` and its parts ``model_time``, ``tool_time`` and ``framework_time``, in seconds."""
    timing = context.timing
    for part in ("wall", "model", "tool", "framework"):
        yield Score(name=f"{part}_time", value=getattr(timing, part), bounded=False)
