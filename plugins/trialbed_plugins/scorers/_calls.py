"""Scores for calls: the called APIs by name, as in the original benchmark, their arguments, success and necessity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING

from trialbed.records import Json, Score, ScoreDescription
from trialbed.scoring import ScoreContext, scorer
from trialbed.tool_calls import AskedCall, canonical
from trialbed_plugins.scorers._reasons import UNOBSERVED, reason, title

if TYPE_CHECKING:
    from trialbed.tool_calls import AlignedCall, AskedCall


_score = partial(ScoreDescription, missing=UNOBSERVED)


@scorer(
    scores=[
        _score("api_call_score", meaning="share of the expected tools that were called"),
        _score("api_precision", meaning="share of the called tools that are expected"),
        _score("api_f1", meaning="harmonic mean of right tools and tool precision"),
    ]
)
def api_scores(context: ScoreContext) -> Iterable[Score]:
    """Compare the called APIs with the expected ones, as distinct (tool_name, api_name) pairs.

    An API counts as called if the model asked for it and the server saw the call, even a failed one. Order, arguments
    and repeats do not matter. For a task without expected APIs, all three scores are 1 without calls and 0 otherwise.
    If APIs are expected and none was called, precision is 0. Tasks that do not say which calls solve them have no
    scores.
    """
    if not context.query.states_calls or context.unobserved:
        return
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


@scorer(
    meaning="share of the expected tools that the agent was offered",
    quality=False,
    ideal=1.0,
    missing="the task has no expected tools",
)
def gold_offered(context: ScoreContext) -> Score | None:
    """Return the share of expected APIs that the selector chose, counted like ``api_call_score``.

    It is independent of the agent and the upper bound of ``api_call_score``.
    """
    gold = context.query.gold_apis
    if not gold:
        return None
    tools = {tool.api for tool in context.tools}
    offered = {ref.pair for ref in gold if ref in tools}
    missing = sorted([list(ref.pair) for ref in gold if ref not in tools])
    value = len(offered) / len({ref.pair for ref in gold})
    return Score(name="gold_offered", value=value, detail={"missing": missing}, quality=False)


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
        "others": [_asked(call) for call in found.others],
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


def _asked(call: AskedCall) -> Json:
    return [*(call.api.pair if call.api else ("", call.name)), call.arguments]


_count = partial(
    ScoreDescription, unit="calls", bounded=False, quality=False, lower_is_better=True, ideal=0.0, missing=UNOBSERVED
)


@scorer(
    scores=[
        ScoreDescription(
            "call_success",
            meaning="share of the model's calls that a tool accepted",
            ideal=1.0,
            missing=UNOBSERVED,
        ),
        ScoreDescription(
            "recovered",
            meaning="share of the failed calls that were followed by an accepted call of the same tool",
            quality=False,
            ideal=1.0,
            missing="no call failed",
        ),
        _count("redundant_calls", meaning="calls that repeat an accepted call"),
        _count("unasked_calls", meaning="calls that the model did not ask for"),
    ]
)
def call_scores(context: ScoreContext) -> Iterable[Score]:
    """Measure whether calls succeeded, were repaired, and were needed.

    ``call_success`` is the share of the model's calls that an API accepted. Without calls, it is 0 if the task expects
    APIs, else 1. ``recovered`` is the share of failed calls with a later accepted call of the same API; without failed
    calls, it has no value. ``redundant_calls`` counts repeats of an accepted call that bring nothing new, and
    ``unasked_calls`` counts calls that the model did not ask for.
    """
    if context.unobserved:
        return
    calls = context.asked
    bad = [call for call in calls if not call.accepted]
    yield Score(
        name="call_success",
        value=_success(len(calls), len(bad), is_needed=bool(context.query.gold_calls)),
        detail={
            "calls": len(calls),
            "failed": [_describe(call) for call in bad],
            **reason(f"{title(call)}: {call.problem}" for call in bad),
        },
    )
    if bad:
        mended = [call for call in bad if _is_mended(call, calls)]
        found = f"{len(mended)} of {len(bad)} failed calls recovered"
        detail: dict[str, Json] = {"failed": len(bad), "mended": len(mended), "reason": found}
        yield Score(name="recovered", value=len(mended) / len(bad), detail=detail, quality=False)
    repeats = _redundant(calls)
    yield _number("redundant_calls", [title(call) for call in repeats])
    yield _number("unasked_calls", [call.api.title for call in context.unasked])


def _success(calls: int, bad: int, *, is_needed: bool) -> float:
    if calls:
        return (calls - bad) / calls
    return 0.0 if is_needed else 1.0


def _is_mended(bad: AskedCall, calls: Sequence[AskedCall]) -> bool:
    """Return whether a later call was accepted, of the same API or, if the call names none, of any."""
    place = next(number for number, call in enumerate(calls) if call is bad)
    return any(call.accepted and bad.api in (call.api, None) for call in calls[place + 1 :])


def _redundant(calls: Sequence[AskedCall]) -> list[AskedCall]:
    """Return the calls that repeat an accepted call and bring nothing new."""
    known: dict[tuple[object, str], list[AskedCall]] = {}
    found = []
    for call in calls:
        earlier = known.setdefault((call.api, call.signature), [])
        if earlier and not _is_news(call, earlier):
            found.append(call)
        elif call.accepted:
            earlier.append(call)
    return found


def _is_news(call: AskedCall, earlier: Sequence[AskedCall]) -> bool:
    """Return whether a call got a different response than its earlier repeats, because its subject has changed."""
    return call.accepted and canonical(call.response) not in {canonical(other.response) for other in earlier}


def _number(name: str, titles: Sequence[str]) -> Score:
    detail: dict[str, Json] = {"calls": list(titles), **reason(titles)} if titles else {}
    return Score(name=name, value=float(len(titles)), detail=detail, bounded=False)


def _describe(call: AskedCall) -> Json:
    return {"call": title(call), "arguments": call.arguments, "reached": call.reached, "problem": call.problem}
