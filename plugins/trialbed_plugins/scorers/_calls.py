"""Scores for the success, necessity and recovery of calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from trialbed.records import Json, Score, ScoreDescription
from trialbed.scoring import ScoreContext, scorer
from trialbed.tool_calls import AskedCall, canonical
from trialbed_plugins.scorers._reasons import UNOBSERVED, reason, title

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
