"""The scores that Trialbed gives every trial: a function for each group of them, and the plugin that calls them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trialbed.errors import JudgeError
from trialbed.hookspecs import hookimpl
from trialbed.records import Failure, Json, Score, Usage
from trialbed.results import claimed_pairs, compare_calls, failed, observed_usage, repeated_requests, sent_pairs
from trialbed.scoring import ScoreContext

SCORES = (
    "sopr_score",
    "api_call_score",
    "api_precision",
    "api_f1",
    "has_finish",
    "claimed_vs_observed",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "model_turns",
    "wall_time",
    "model_time",
    "tool_time",
    "framework_time",
)
"""Every score that a trial gets."""

TOKENS = ("prompt_tokens", "completion_tokens", "total_tokens")


def score_api_calls(context: ScoreContext) -> Iterable[Score]:
    """``api_call_score`` (recall), ``api_precision`` and ``api_f1`` over distinct (tool_name, api_name) pairs.

    Called is what the server saw and the model had asked for, failed calls too; order, arguments and repeats do not
    matter. A query without gold Apis is right with no call at all: all three are then 1, and 0 after any call. Where
    there is gold and nothing was called, precision is 0.
    """
    called = {ref.pair for ref in context.called_apis}
    gold = {ref.pair for ref in context.query.gold_apis}
    both = called & gold
    right = 1.0 if called == gold else 0.0
    detail = {
        "right": sorted(map(list, both)),
        "missing": sorted(map(list, gold - called)),
        "extra": sorted(map(list, called - gold)),
    }
    yield Score(name="api_call_score", value=len(both) / len(gold) if gold else right, detail=detail)
    yield Score(name="api_precision", value=len(both) / len(called) if called and gold else right)
    yield Score(name="api_f1", value=2 * len(both) / (len(called) + len(gold)) if gold else right)


def score_claims(context: ScoreContext) -> Iterable[Score]:
    """``claimed_vs_observed``: the share of calls that are both claimed and observed, of all that are either.

    Over multisets of (tool_name, api_name, arguments); a claim without arguments matches any call of its Api.
    The detail lists the calls that were invented (claimed, never made), unreported (made, never claimed) and unasked
    (made, though no answer of the model asked for them), and the calls as the model sent them and as the agent claims
    them. It says nothing of the quality of an answer, so failed trials are left out of its mean. Answers that are plain
    text claim nothing, and have no such score.
    """
    if not context.answer.reports_calls:
        return
    found = compare_calls(context.answer, context.wire)
    detail = {
        "invented": list(map(list, found.invented)),
        "unreported": list(map(list, found.unreported)),
        "unasked": [list(call.api.pair) for call in context.unasked],
        "sent": list(map(list, sent_pairs(context.wire, context.tools))),
        "claimed": list(map(list, claimed_pairs(context.answer))),
    }
    yield Score(name="claimed_vs_observed", value=found.agreement, detail=detail, quality=False)


def score_finish(context: ScoreContext) -> Iterable[Score]:
    """``has_finish``: 1 if the agent ended by itself, with an answer or by giving up (the label says which), else 0."""
    finish = context.answer.finish
    yield Score(name="has_finish", value=0.0 if finish is None else 1.0, label=finish)


async def score_answer(context: ScoreContext) -> Score:
    """``sopr_score``: the run's judge on the answer; the label is the answer's status.

    Solved is 1, Unsure 0.5, Unsolved 0, averaged over the votes (Solvable Pass Rate, Guo et al. 2024). A judge
    that gives no usable verdict is a failure, never a guess. An answer that rests on Apis that the model never asked
    for is not the model's, and is Unsolved.
    """
    foreign = {call.api.pair for call in context.unasked} - {ref.pair for ref in context.called_apis}
    if foreign:
        return _not_asked_for(sorted(": ".join(pair) for pair in foreign))
    try:
        verdict = await context.judge.judge(context.query, context.answer, context.asked_wire)
    except JudgeError as error:
        return _judge_failure(context, str(error))
    except Exception as error:  # noqa: BLE001 - a judge is foreign code: its fault must not cost the other scores
        return _judge_failure(context, f"{type(error).__name__}: {error}")
    detail = {"method": context.judge_name, "reason": verdict.reason, "votes": list(verdict.votes)}
    return Score(name="sopr_score", value=verdict.value, label=verdict.status, detail=detail)


def _not_asked_for(apis: list[str]) -> Score:
    reason = f"the answer rests on calls that no answer of the model asked for: {'; '.join(apis)}"
    detail: dict[str, Json] = {"method": "calls", "reason": reason, "votes": ["Unsolved"]}
    return Score(name="sopr_score", value=0.0, label="Unsolved", detail=detail)


def _judge_failure(context: ScoreContext, message: str) -> Score:
    failure = Failure(kind="judge", message=f"judge {context.judge_name}: {message}")
    return Score(name="sopr_score", value=None, detail={"method": context.judge_name}, failure=failure)


def score_tokens(context: ScoreContext) -> Iterable[Score]:
    """``prompt_tokens``, ``completion_tokens`` and ``total_tokens`` over all model calls, as the model reported them.

    The detail has the framework's own count. There is no value if the model did not report its usage.
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


_SCORERS: tuple[Callable[[ScoreContext], Iterable[Score]], ...] = (
    score_api_calls,
    score_finish,
    score_claims,
    score_tokens,
    score_turns,
    score_time,
)


@hookimpl
def declare_scores() -> tuple[str, ...]:
    """The names of the built-in scores."""
    return SCORES


@hookimpl
async def score_trial(context: ScoreContext) -> list[Score]:
    """The built-in scores of one trial."""
    scores = [await score_answer(context)]
    for scorer in _SCORERS:
        scores.extend(scorer(context))
    return scores
