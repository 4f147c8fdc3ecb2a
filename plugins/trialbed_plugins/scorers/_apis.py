"""Scores for the called APIs by name, as in the original benchmark."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from trialbed.records import Score, ScoreDescription
from trialbed.scoring import ScoreContext, scorer
from trialbed_plugins.scorers._reasons import UNOBSERVED

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
