"""Measures of how well a selector finds the expected Apis of queries."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from trialbed.contracts import ToolSelector
from trialbed.records import ApiRef, Query
from trialbed.statistics import Estimate, wilson_interval
from trialbed.texts import group_by_key
from trialbed_selection.tools import choose

MEASURES = ("recall", "coverage")
"""The share of expected Apis among the first k, and whether all of them are there."""


@dataclass(frozen=True)
class FoundApis:
    """The choice of a selector for a query.

    Attributes:
        test_set: that the query belongs to.
        ranking: the chosen Apis, best first.
        seconds: that it took.
        topped_up: Apis that fill up a model's choice because it was too short.
    """

    test_set: str
    query: Query
    ranking: tuple[ApiRef, ...]
    seconds: float
    topped_up: frozenset[ApiRef] = frozenset()


def rankings(selector: ToolSelector, queries: Mapping[str, Sequence[Query]], most: int) -> Iterator[FoundApis]:
    """Measure a selector's choice for each query with gold, of each test set.

    Args:
        most: the largest k.
    """
    for test_set, own in queries.items():
        for query in own:
            if query.gold_apis:
                began = time.perf_counter()
                choices = choose(selector, query, most)
                seconds = time.perf_counter() - began
                filled = frozenset(choice.api for choice in choices if choice.topped_up)
                yield FoundApis(test_set, query, tuple(choice.api for choice in choices), seconds, filled)


def recall_at(ranking: Sequence[ApiRef], gold: Sequence[ApiRef], k: int) -> float:
    """Return the share of the expected Apis among the first ``k``."""
    return len(set(gold).intersection(ranking[:k])) / len(set(gold))


def summarize_recall(found: Sequence[FoundApis], ks: Sequence[int]) -> list[dict[str, Any]]:
    """Return the measures at each k for each test set, and for all if there are several, as means with 95 % intervals.

    A query is one observation, and so are its repeats under one id.
    """
    test_sets = list(dict.fromkeys(item.test_set for item in found))
    rows = [_row(name, [item for item in found if item.test_set == name], ks) for name in test_sets]
    return [*rows, _row(None, found, ks)] if len(rows) > 1 else rows


def _row(test_set: str | None, found: Sequence[FoundApis], ks: Sequence[int]) -> dict[str, Any]:
    return {
        "test_set": test_set,
        "queries": len(found),
        "gold_apis": sum(len(item.query.gold_apis) for item in found),
        "milliseconds": round(1000 * median(item.seconds for item in found), 3),
        "at": {str(k): {name: _estimate(name, found, k).as_json() for name in MEASURES} for k in ks},
        "topped_up": {str(k): _topped_up(found, k) for k in ks},
    }


def _topped_up(found: Sequence[FoundApis], k: int) -> float:
    """Return the share of the tools offered that fill up choices of a model."""
    offered = [ref in item.topped_up for item in found for ref in item.ranking[:k]]
    return fmean(offered) if offered else 0.0


def _estimate(measure: str, found: Sequence[FoundApis], k: int) -> Estimate:
    values = group_by_key(((item.test_set, item.query.query_id), _value(measure, item, k)) for item in found)
    mean = fmean(value for own in values.values() for value in own)
    return Estimate(mean, wilson_interval(mean, len(values)), len(values))


def _value(measure: str, item: FoundApis, k: int) -> float:
    recall = recall_at(item.ranking, item.query.gold_apis, k)
    return recall if measure == "recall" else float(recall == 1)
