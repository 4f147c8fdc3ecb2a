"""The trials that count in a score: one rule for tables, pages, documents, comparisons and data frames."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, TypeVar

from trialbed.records import Query, TrialStatus

QueryId = int | str

TIMES = ("wall_time", "model_time", "tool_time", "framework_time")
"""Scores in which a worker's first trial, which does once what later ones find done, is kept apart."""

OF_GOLD_CALLS = ("api_call_score", "api_precision", "api_f1")
"""Scores that there are only of queries that say which calls solve them."""

OF_GOLD_ARGUMENTS = ("argument_accuracy", "tool_call_f1", "tool_call_accuracy")
"""Scores that there are only of queries whose expected calls have arguments."""

OF_GOLD = (*OF_GOLD_CALLS, *OF_GOLD_ARGUMENTS)
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

    @property
    def pair(self) -> tuple[QueryId, int]:
        """The query and the repeat."""


Trial = TypeVar("Trial", bound=EndedTrial)


def absent_scores(queries: Iterable[Query]) -> dict[QueryId, Collection[str]]:
    """Return the scores that trials of a query cannot have, for the queries of which there are some."""
    return {query.query_id: names for query in queries if (names := _absent_scores(query))}


def _absent_scores(query: Query) -> Collection[str]:
    if not query.states_calls:
        return OF_GOLD
    return OF_GOLD_ARGUMENTS if all(call.arguments is None for call in query.gold_calls) else ()


def absent_by_trials(
    queries: Iterable[QueryId], answered: Iterable[tuple[QueryId, Collection[str]]]
) -> dict[QueryId, Collection[str]]:
    """Return the same as ``absent_scores`` where only the ids of queries are known, as far as their trials show it.

    Queries that no trial answered have the scores that any trial has.

    Args:
        answered: the query of each trial without failure, and the scores that have a value in it.
    """
    found: dict[QueryId, set[str]] = defaultdict(set)
    for query, names in answered:
        found[query].update(names)
    anywhere = set().union(*found.values()) if found else set(OF_GOLD)
    missing = {query: [name for name in OF_GOLD if name not in found.get(query, anywhere)] for query in queries}
    return {query: tuple(names) for query, names in missing.items() if names}


def zero_scores(
    quality: Collection[str], query_id: QueryId, absent: Mapping[QueryId, Collection[str]] = NONE_ABSENT
) -> list[str]:
    """Return the scores of quality that a failed trial of a query has as 0.

    Args:
        absent: the scores that trials of a query cannot have.
    """
    left_out = absent.get(query_id, ())
    return [name for name in quality if name not in left_out]


def common_pairs(status: str, groups: Mapping[str, Sequence[EndedTrial]]) -> frozenset[tuple[QueryId, int]] | None:
    """Return the queries and repeats that were measured for every framework of a run, where some were not.

    Args:
        status: of the run.
        groups: the trials of each framework.
    """
    if status == "finished" or len(groups) == 1:
        return None
    measured = [{trial.pair for trial in group if trial.status != "not measured"} for group in groups.values()]
    return frozenset(set.intersection(*measured))


def first_trials_apart(
    groups: Mapping[str, Sequence[EndedTrial]], common: Collection[tuple[QueryId, int]] | None = None
) -> bool:
    """Return whether the times of each worker's first trial can be left out for all frameworks alike.

    They cannot if any framework has no other times: it alone would be shown with the start-up of its workers.

    Args:
        groups: the trials of each framework.
        common: the queries and repeats to which figures are held, where some lack trials.
    """
    parts = [list(group) for group in groups.values()]
    if common is not None:
        parts += [[trial for trial in group if trial.pair in common] for group in parts]
    answered = ([trial for trial in group if trial.status == "answered"] for group in parts)
    return all(any(not trial.first for trial in group) for group in answered if group)


def timed_trials(trials: Iterable[Trial], *, first_apart: bool | None = None) -> list[Trial]:
    """Return the trials without failure whose times count.

    Args:
        first_apart: whether each worker's first is left out; None for wherever there are others.
    """
    answered = [trial for trial in trials if trial.status == "answered"]
    if first_apart is False:
        return answered
    return [trial for trial in answered if not trial.first] or answered
