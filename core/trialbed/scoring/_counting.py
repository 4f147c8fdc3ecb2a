"""The trials that count in a score: one rule for tables, pages, documents, comparisons and data frames."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from trialbed.records import Query, Score, TrialStatus

QueryId = int | str

TIMES = ("wall_time", "model_time", "tool_time", "framework_time")
"""Scores in which a worker's first trial, which does once what later ones find done, is kept apart."""

OF_GOLD_CALLS = ("api_call_score", "api_precision", "api_f1")
"""Scores that there are only of queries that say which calls solve them."""

OF_GOLD_ARGUMENTS = ("argument_accuracy", "tool_call_f1", "tool_call_accuracy")
"""Scores that there are only of queries whose expected calls have arguments."""

OF_GOLD = (*OF_GOLD_CALLS, *OF_GOLD_ARGUMENTS)
"""Scores that there are only of queries that say something of the calls; a run may have them of no query."""

OF_STATE = ("final_state",)
"""Scores that there are only of queries that name a final state; without any, a run has none of them."""

OF_SOME = (*OF_GOLD, *OF_STATE)
"""Scores that not every query has."""

NONE_ABSENT: Mapping[QueryId, Collection[str]] = MappingProxyType({})
"""For queries whose trials can have every score."""


class EndedTrial(Protocol):
    """A trial with its end."""

    @property
    def status(self) -> TrialStatus:
        """The way in which it ended."""

    @property
    def first(self) -> bool:
        """Whether it was the first trial of its worker."""


def absent_scores(queries: Iterable[Query]) -> dict[QueryId, Collection[str]]:
    """Return the scores that trials of a query cannot have, for the queries of which there are some."""
    found, has_states = {}, False
    for query in queries:
        found[query.query_id] = _absent_scores(query)
        has_states |= query.final_state is not None
    of_run = OF_SOME if has_states else OF_GOLD
    kept = {names: tuple(name for name in names if name in of_run) for names in set(found.values())}
    return {query_id: kept[names] for query_id, names in found.items() if kept[names]}


def _absent_scores(query: Query) -> tuple[str, ...]:
    of_state = OF_STATE if query.final_state is None else ()
    if not query.states_calls:
        return (*OF_GOLD, *of_state)
    return (*OF_GOLD_ARGUMENTS, *of_state) if all(call.arguments is None for call in query.gold_calls) else of_state


def absent_by_trials(
    queries: Iterable[QueryId], answered: Iterable[tuple[QueryId, Collection[str]]]
) -> dict[QueryId, Collection[str]]:
    """Return the same as ``absent_scores`` where only the ids of queries are known, as far as their trials show it.

    Queries that no trial answered have the scores that any trial has.

    Args:
        answered: the query of each trial without failure, and the scores that have a value in it.
    """
    ids = list(queries)
    known, found = set(ids), dict[QueryId, set[str]]()
    for query, names in answered:
        if query in known:
            found.setdefault(query, set()).update(names)
    seen = set().union(*found.values()) if found else {*OF_GOLD}
    of_run = [name for name in OF_SOME if name in OF_GOLD or name in seen]
    missing = {query: tuple(name for name in of_run if name not in found.get(query, seen)) for query in ids}
    return {query: names for query, names in missing.items() if names}


def zero_scores(
    quality: Collection[str], query_id: QueryId, absent: Mapping[QueryId, Collection[str]] = NONE_ABSENT
) -> list[str]:
    """Return the scores of quality that a failed trial of a query has as 0.

    Args:
        absent: the scores that trials of a query cannot have.
    """
    left_out = absent.get(query_id, ())
    return [name for name in quality if name not in left_out]


def first_trials_apart(groups: Mapping[str, Sequence[EndedTrial]]) -> bool:
    """Return whether the times of each worker's first trial can be left out for all frameworks alike.

    They cannot if any framework has no other times: it alone would be shown with the start-up of its workers.

    Args:
        groups: the trials of each framework.
    """
    answered = ([trial for trial in group if trial.status == "answered"] for group in groups.values())
    return all(any(not trial.first for trial in group) for group in answered if group)


ALWAYS = ("sopr_score", "api_call_score", "api_precision", "api_f1", "has_finish")
"""Scores of quality that a summary has even where no trial ended without failure."""


class TrialScores(Protocol):
    """A trial with its scores, as a result, a store or a report has it."""

    @property
    def status(self) -> TrialStatus:
        """The way in which it ended."""

    @property
    def scores(self) -> tuple[Score, ...]:
        """Its scores."""


def quality_scores(trials: Iterable[TrialScores]) -> tuple[str, ...]:
    """Return the scores that say how good an answer is: 0 for each trial that failed."""
    given = [score for trial in trials if trial.status == "answered" for score in trial.scores]
    other = {score.name for score in given if not (score.bounded and score.quality)}
    return tuple(dict.fromkeys([*ALWAYS, *(score.name for score in given if score.name not in other)]))
