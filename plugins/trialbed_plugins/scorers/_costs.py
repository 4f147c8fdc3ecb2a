"""Scores for a trial's cost in tokens, requests and time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial

from trialbed.records import Failure, Score, ScoreDescription, WireLog
from trialbed.scoring import ScoreContext, scorer
from trialbed.wire_log import failed, observed_usage, repeated_requests

ASKS_FOR_USAGE = re.compile(r'"include_usage"\s*:\s*true')
"""Found in the body of a request."""

_amount = partial(ScoreDescription, bounded=False, quality=False, lower_is_better=True)
_tokens = partial(
    _amount, unit="tokens", missing="the model did not report the usage of every request that it answered"
)
_seconds = partial(_amount, unit="s")
UNTIMED = "the agent called its own tools, which are not timed"

TOKENS = (
    _tokens("prompt_tokens", meaning="tokens of all requests to the model"),
    _tokens("completion_tokens", meaning="tokens of all answers of the model"),
    _tokens("total_tokens", meaning="prompt and completion tokens"),
)


@scorer(scores=TOKENS)
def token_scores(context: ScoreContext) -> Iterable[Score]:
    """Count the reported tokens of all model calls.

    The detail has the framework's own count and the number of requests with estimated tokens. Without usage reported by
    the model, there is no value.
    """
    wire, claimed = context.wire, context.answer.usage
    observed, broken = observed_usage(wire), [call for call in wire.model_calls if call.cause == "gone"]
    estimated = sum(call.status == 0 and call.usage is None for call in broken)
    estimated += sum(call.estimated for call in wire.embedding_calls)
    for score in TOKENS:
        detail = {"claimed": getattr(claimed, score.name) if claimed else None}
        if estimated:
            detail["estimated"] = estimated
        value = None if observed is None else float(getattr(observed, score.name))
        failure = _unreported_tokens(wire) if observed is None else None
        yield Score(name=score.name, value=value, detail=detail, bounded=False, failure=failure)


def _unreported_tokens(wire: WireLog) -> Failure:
    """Explain why the first call without tokens has none. A stream only contains them on request."""
    if not wire.model_calls:
        return Failure(kind="model", message="no model was asked through Trialbed")
    calls = enumerate(wire.model_calls, 1)
    place, call = next(((place, call) for place, call in calls if call.usage is None and call.status < 400), (0, None))
    if call is None or not call.stream or ASKS_FOR_USAGE.search(call.request):
        return Failure(kind="model", message="the model did not report the tokens of every call")
    text = f"the agent streamed request {place} without asking for its tokens (stream_options.include_usage)"
    return Failure(kind="agent", message=text)


@scorer(
    name="cost",
    unit="USD",
    meaning="price of all tokens",
    bounded=False,
    quality=False,
    lower_is_better=True,
    missing="the model did not report the usage of every request that it answered, or another model was asked",
)
def cost_score(context: ScoreContext) -> Score | None:
    """Compute the price of all tokens. Cached tokens and reasoning tokens have their own prices.

    There is no score if the prices of the run's model are unknown.
    """
    if context.prices is None:
        return None
    answered = [call for call in context.wire.model_calls if not failed(call)]
    if observed_usage(context.wire) is None or any(call.other_model for call in answered):
        return Score(name="cost", value=None, bounded=False, failure=_unreported_tokens(context.wire))
    cost = sum(context.prices.cost(call.usage) for call in context.wire.model_calls if call.usage is not None)
    return Score(name="cost", value=cost, bounded=False)


@scorer(unit="turns", meaning="requests that the model answered", bounded=False, quality=False, lower_is_better=True)
def model_turns(context: ScoreContext) -> Score:
    """Count the requests that the model answered.

    The detail has the numbers of failed and repeated requests, and the framework's own count of turns.
    """
    failures = sum(1 for call in context.wire.model_calls if failed(call))
    return Score(
        name="model_turns",
        value=float(len(context.wire.model_calls) - failures),
        detail={"failed": failures, "repeated": repeated_requests(context.wire), "claimed": context.answer.model_turns},
        bounded=False,
    )


@scorer(
    scores=[
        _seconds("wall_time", meaning="from binding the tools to the end of the agent's answer"),
        _seconds("model_time", meaning="time in which a request to the model was under way"),
        _seconds(
            "tool_time",
            meaning=(
                "time in which a tool call, but no request to the model, was under way, including its way to Trialbed "
                "and back"
            ),
            missing=UNTIMED,
        ),
        _seconds("framework_time", meaning="time that is neither the model's nor the tools'", missing=UNTIMED),
    ]
)
def time_scores(context: ScoreContext) -> Iterable[Score]:
    """Split the wall time of the trial."""
    timing = context.timing
    replayed = sum(call.recorded is not None for call in context.wire.model_calls)
    own = any(call.source == "conversation" for call in context.wire.api_calls)
    for part in ("wall", "model", "tool", "framework"):
        if replayed and part in ("wall", "model"):
            text = f"{replayed} of {len(context.wire.model_calls)} answers of the model were recorded ones"
            yield Score(name=f"{part}_time", value=None, bounded=False, failure=Failure(kind="replay", message=text))
        elif own and part in ("tool", "framework"):
            continue  # the agent's own tools are not timed
        else:
            yield Score(name=f"{part}_time", value=getattr(timing, part), bounded=False)
