"""Scores for calls against expected calls, including arguments."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING

from trialbed.records import Json, Score, ScoreDescription
from trialbed.scoring import ScoreContext, scorer
from trialbed_plugins.scorers._reasons import UNOBSERVED, reason

if TYPE_CHECKING:
    from trialbed.tool_calls import AlignedCall, AskedCall

_share = partial(ScoreDescription, ideal=1.0, missing=f"no expected call of the task has arguments, or {UNOBSERVED}")


@scorer(
    scores=[
        _share("argument_accuracy", meaning="share of right arguments in the expected calls"),
        _share("tool_call_f1", meaning="F1 of the calls against the expected calls, arguments included"),
        _share("tool_call_accuracy", meaning="agreement of the calls with the expected calls and their order"),
    ]
)
def argument_scores(context: ScoreContext) -> Iterable[Score]:
    """Compare the calls with the expected calls, including arguments.

    Each expected call is paired with the closest call of its API, one to one. ``argument_accuracy`` is the mean share
    of right arguments over the expected calls with arguments; a missing call counts as 0. ``tool_call_f1`` and
    ``tool_call_accuracy`` are the metrics with these names. They relate the points of all pairs to the made calls and
    the expected ones, and the latter also considers their order. Calls that never reached an API count as calls.
    """
    gold = context.query.gold_calls
    if context.unobserved or all(call.arguments is None for call in gold):
        return
    from trialbed.tool_calls import align_gold_calls  # many tasks expect no calls

    calls = context.asked
    found = align_gold_calls(gold, calls, context.tools)
    points = [one.points for one in found.gold if one.gold.arguments is not None]
    detail: dict[str, Json] = {
        "calls": [_comparison(one) for one in found.gold],
        "others": [_describe(call) for call in found.others],
        **reason(
            (f"{one.gold.api.title}: {one.difference}" for one in found.gold if one.points < 1),
            "every expected call was made with its arguments",
        ),
    }
    yield Score(name="argument_accuracy", value=fmean(points), detail=detail)
    sums: dict[str, Json] = {"precision": found.f1.precision, "recall": found.f1.recall}
    counts: dict[str, Json] = {"called": len(calls), "gold": len(gold), "reason": found.f1.formula}
    yield Score(name="tool_call_f1", value=found.f1.value, detail=sums | counts)
    yield Score(name=found.accuracy.metric, value=found.accuracy.value, detail={"reason": found.accuracy.formula})


def _comparison(one: AlignedCall) -> Json:
    """Describe an expected call, the call paired with it, and their difference."""
    return {
        "gold": [*one.gold.api.pair, one.gold.arguments],
        "called": None if one.call is None else one.call.arguments,
        "points": one.points,
        "difference": one.difference,
    }


def _describe(call: AskedCall) -> Json:
    return [*(call.api.pair if call.api else ("", call.name)), call.arguments]
