"""The trials that count in a score."""

from __future__ import annotations

from trialbed.records import Query

ALWAYS = ("sopr_score", "api_call_score", "api_precision", "api_f1", "has_finish")
"""Scores of quality that a summary has even if every trial failed."""

TIMES = ("wall_time", "model_time", "tool_time", "framework_time")
"""Scores that separate a worker's first trial, because it does the work that later ones find done."""

OF_GOLD_CALLS = ("api_call_score", "api_precision", "api_f1")
"""Scores that there are only of queries that say which calls solve them."""

OF_GOLD_ARGUMENTS = ("argument_accuracy", "tool_call_f1", "tool_call_accuracy")
"""Scores that only exist for queries with arguments in the expected calls."""

OF_GOLD = (*OF_GOLD_CALLS, *OF_GOLD_ARGUMENTS)
"""Scores that there are only of queries that say something of the calls; a run may have them of no query."""

OF_STATE = ("final_state",)
"""Scores that only exist for queries with a final state, and for runs with such a query."""

OF_SOME = (*OF_GOLD, *OF_STATE)
"""Scores that not every query has."""


def absent_scores(query: Query) -> tuple[str, ...]:
    """Return the scores that no trial of a query can have."""
    of_state = OF_STATE if query.final_state is None else ()
    if not query.states_calls:
        return (*OF_GOLD, *of_state)
    return (*OF_GOLD_ARGUMENTS, *of_state) if all(call.arguments is None for call in query.gold_calls) else of_state
