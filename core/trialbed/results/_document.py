"""The result document of one framework in one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trialbed.errors import DataError
from trialbed.records import Query, Run, TrialResult
from trialbed.results._clean import clean
from trialbed.results._entries import entry
from trialbed.results._metadata import metadata
from trialbed.results._summary import summary
from trialbed.secrets import secret_values

QueryId = int | str


def result_document(
    run: Run,
    framework: str,
    queries: Mapping[QueryId, Query],
    results: Sequence[TrialResult],
    extra_summary: Mapping[str, Any],
) -> dict[str, Any]:
    """``{"metadata", "summary", "results"}``, ready to be written as JSON; its schema is ``document_schema()``.

    Keys that StableToolBench's runners write have their names and meanings. Differences: this rig calls no
    gold Api on its own, so ``gold_answer_time``, ``gold_api_responses`` and their average are null, and
    ``gold_answer`` is the dataset's reference answer; a failed trial has null scores and enters no average.

    Args:
        framework: whose trials these are; names the agent.
        queries: the run's queries by id.
        results: the framework's trials, failed ones too; one entry each, in the order of the run's queries.
        extra_summary: what plugins add to the summary.

    Raises:
        DataError: a plugin's key is one that the summary has, or a trial is about a query that is not given.
    """
    ordered = _ordered(queries, results)
    figures = summary(run, ordered)
    taken = sorted(figures.keys() & extra_summary.keys())
    if taken:
        raise DataError(f"a plugin's aggregate_scores gives {taken[0]!r}, which the summary has already; rename it")
    secrets = secret_values()
    return {
        "metadata": clean(metadata(run, framework), ()),
        "summary": clean({**figures, **extra_summary}, secrets),
        "results": clean([entry(queries[result.key.query_id], result) for result in ordered], secrets),
    }


def _ordered(queries: Mapping[QueryId, Query], results: Sequence[TrialResult]) -> list[TrialResult]:
    places = {query_id: place for place, query_id in enumerate(queries)}
    for result in results:
        if result.key.query_id not in places:
            raise DataError(f"there is a trial of query {result.key.query_id!r}, which is none of the run's queries")
    return sorted(results, key=lambda result: (places[result.key.query_id], result.key.repeat))
