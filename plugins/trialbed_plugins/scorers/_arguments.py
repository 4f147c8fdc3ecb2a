"""Scores of calls against gold calls, arguments included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trialbed.alignment import AlignedCall, align_gold_calls
from trialbed.records import Json, Score
from trialbed.results import AskedCall, asked_calls
from trialbed.scoring import ScoreContext


def score_arguments(context: ScoreContext) -> Iterable[Score]:
    """``argument_accuracy`` and ``tool_call_f1``; neither where no gold call of the query has arguments.

    Each gold call is compared with the call of its Api that comes closest, one to one. ``argument_accuracy`` is the
    mean share of right arguments over the gold calls that have any; a gold call without a call has 0. ``tool_call_f1``
    is the harmonic mean of the shares of gold calls and of calls that are in a pair with no difference. Calls that
    never reached an Api count as calls.
    """
    gold = context.query.gold_calls
    if all(call.arguments is None for call in gold):
        return
    calls = asked_calls(context.wire, context.tools, context.unasked)
    aligned = align_gold_calls(gold, calls, context.tools)
    shares = [one.match.share for one in aligned if one.gold.arguments is not None]
    detail: dict[str, Json] = {"calls": [_compared(one) for one in aligned], "others": _others(calls, aligned)}
    yield Score(name="argument_accuracy", value=sum(shares) / len(shares), detail=detail)
    right = sum(1 for one in aligned if one.right)
    yield Score(
        name="tool_call_f1",
        value=2 * right / (len(calls) + len(gold)),
        detail={"right": right, "called": len(calls), "gold": len(gold)},
    )


def _compared(one: AlignedCall) -> Json:
    """A gold call, the call that stands for it and what differs."""
    return {
        "gold": [*one.gold.api.pair, one.gold.arguments],
        "called": None if one.call is None else one.call.arguments,
        "share": one.match.share,
        "difference": one.match.difference if one.call is not None else "not called",
    }


def _others(calls: Sequence[AskedCall], aligned: Sequence[AlignedCall]) -> list[Json]:
    """The calls that stand for no gold call."""
    taken = {id(one.call) for one in aligned}
    return list(_named(call for call in calls if id(call) not in taken))


def _named(calls: Iterable[AskedCall]) -> Iterator[Json]:
    return ([*(call.api.pair if call.api else ("", call.name)), call.arguments] for call in calls)
