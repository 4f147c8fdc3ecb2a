"""Scores of what a trial cost: tokens, requests and time."""

from __future__ import annotations

from collections.abc import Iterable

from trialbed.records import Failure, Score, Usage
from trialbed.results import failed, observed_usage, repeated_requests
from trialbed.scoring import ScoreContext

TOKENS = ("prompt_tokens", "completion_tokens", "total_tokens")


def score_tokens(context: ScoreContext) -> Iterable[Score]:
    """``prompt_tokens``, ``completion_tokens`` and ``total_tokens`` over all model calls, as the model reported them.

    The detail has the framework's own count. Without the usage that the model reports they have no value.
    """
    observed, claimed = observed_usage(context.wire), context.answer.usage
    for part in TOKENS:
        detail = {"claimed": getattr(claimed, part) if claimed else None}
        yield _tokens(part, observed, detail)


def _tokens(part: str, observed: Usage | None, detail: dict[str, int | None]) -> Score:
    if observed is None:
        failure = Failure(kind="model", message="the model did not report the tokens of every call")
        return Score(name=part, value=None, detail=detail, bounded=False, failure=failure)
    return Score(name=part, value=float(getattr(observed, part)), detail=detail, bounded=False)


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
