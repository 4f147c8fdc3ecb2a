"""The result documents of a run, while it is run and from the store."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from trialbed.engine._brief import Brief, without_collection
from trialbed.engine._datasets import open_dataset
from trialbed.engine._gold_answers import GoldAnswers
from trialbed.engine._listeners import Listeners
from trialbed.errors import DataError, DriverBroken, TrialbedError
from trialbed.plugins import plugin_manager
from trialbed.records import Query, Run, RunConfig, ToolSpec, TrialResult
from trialbed.report import first_trials_apart, result_document
from trialbed.report.attribution import AttributedCall, add_attribution, attribute_documents, attribute_trial
from trialbed.report.comparison import compare_frameworks, rank_documents
from trialbed.scoring import quality_scores
from trialbed.settings import MARGIN
from trialbed.store import StoredRun, counted_attempts

Queries = Mapping[int | str, Query]
Tools = Mapping[int | str, Sequence[ToolSpec]]
Pair = tuple[int | str, int]
"""A query and a repeat."""

log = logging.getLogger("trialbed.plugins")


def run_documents(
    run: Run,
    queries: Queries,
    attempts: Sequence[TrialResult],
    listeners: Listeners,
    *,
    tools: Tools | None = None,
    attributed: Mapping[str, Sequence[AttributedCall] | None] | None = None,
    gold: GoldAnswers | None = None,
    against: str | None = None,
    margin: float = MARGIN,
    allow_incomplete: bool = False,
    brief: bool = False,
    whole: Callable[[TrialResult], TrialResult] = lambda result: result,
) -> list[dict[str, Any]]:
    """A document for each framework of a run, with its comparisons.

    Args:
        queries: the run's queries by id.
        attempts: every attempt, those that do not count too.
        tools: what each query was offered, for where gold calls were lost; None where that cannot be told.
        attributed: the same, found already, trial by trial; the attempts need not have their bodies then.
        gold: what gold calls were answered, where the run made them itself.
        against, margin: as ``compare_frameworks`` takes them.
        allow_incomplete: where trials are missing, add the figures over those that every framework has.
        brief: as ``result_document`` takes it.
        whole: as ``compare_frameworks`` takes it.
    """
    results = counted_attempts(attempts)
    counted = {id(result) for result in results}
    quality = quality_scores(results)
    common = _common(run, results) if allow_incomplete else None
    apart = _first_apart(run, results, common)
    documents = []
    for framework in run.config.frameworks:
        own = [result for result in attempts if result.key.framework == framework]
        counting = [result for result in own if id(result) in counted]
        earlier = [result for result in own if id(result) not in counted]
        extra = listeners.aggregate(run, counting)
        documents.append(
            result_document(
                run,
                framework,
                queries,
                counting,
                extra,
                quality=quality,
                common=common,
                earlier=earlier,
                first_apart=apart,
                gold=gold,
                brief=brief,
            )
        )
    if attributed is not None:
        add_attribution(documents, attributed)
    elif tools is not None:
        attribute_documents(documents, results, queries, tools)
    comparisons = compare_frameworks(documents, results, against=against, margin=margin, whole=whole)
    for document in documents:
        document["summary"]["comparisons"] = comparisons[document["metadata"]["agent_name"]]
    rank_documents(documents, margin)
    return documents


def stored_documents(stored: StoredRun, queries: Queries | None = None, *, brief: bool = False) -> list[dict[str, Any]]:
    """The documents of a run as the store holds it now.

    One that has not ended, or that lacks trials, has the status ``incomplete``, and figures over the trials that every
    framework has.

    Args:
        queries: the run's queries by id; None where the dataset is out of reach: the entries then lack their texts and
            gold Apis.
        brief: whether entries have only what tables, comparisons and the worst queries need. Of a large run, a
            fraction of the memory suffices then.
    """
    run = stored.record
    ended = run if run.status == "finished" else run.model_copy(update={"status": "incomplete"})
    known = queries or {query_id: Query(query_id=query_id, text="", apis=()) for query_id in run.config.query_ids}
    listeners = Listeners(plugin_manager(on_broken=leave_out))
    tools = {query_id: stored.tools(query_id) for query_id in queries} if queries else None
    gold = stored.gold_answers()
    # A plugin that sums up trials gets all of them as a whole.
    if not brief or listeners.hears("aggregate_scores"):
        every = stored.results()
        return run_documents(ended, known, every, listeners, tools=tools, gold=gold, allow_incomplete=True, brief=brief)
    with without_collection():
        attributed: dict[str, Sequence[AttributedCall] | None] | None = None if tools is None else {}
        attempts, small = [], Brief()
        for result in stored.each_result():
            if tools is not None and attributed is not None and result.key.query_id in known:
                attributed[result.trial] = attribute_trial(result, known, tools)
            attempts.append(small.of(result))
        return run_documents(
            ended,
            known,
            attempts,
            listeners,
            attributed=attributed,
            gold=gold,
            allow_incomplete=True,
            brief=True,
            whole=lambda result: stored.trial(result.key.framework, result.key.query_id, result.key.repeat).result,
        )


def run_queries(config: RunConfig, data_dir: Path) -> dict[int | str, Query]:
    """The queries of a run, from its dataset.

    Raises:
        DataError: the dataset is another one now.
        UsageError, DriverError: as ``open_dataset`` says.
    """
    dataset = open_dataset(config.dataset, data_dir)
    if dataset.digest() != config.dataset_digest:
        raise DataError(f"the dataset {config.dataset} has changed since the run: its digest is another")
    found = {query.query_id: query for query in dataset.queries()}
    return {query_id: found[query_id] for query_id in config.query_ids}


def known_queries(config: RunConfig, data_dir: Path) -> dict[int | str, Query] | None:
    """The queries of a run; None where its dataset is out of reach or has changed, as all else is in the store."""
    try:
        return run_queries(config, data_dir)
    except (TrialbedError, OSError):
        return None


def leave_out(error: DriverBroken) -> None:
    """Say that a plugin that is broken is not asked."""
    log.warning("%s The run continues without it.", error)


def _first_apart(run: Run, results: Sequence[TrialResult], common: frozenset[Pair] | None) -> bool:
    """Whether the times of all frameworks leave out first trials, over all trials and over those in common."""
    names = run.config.frameworks
    shared = [result for result in results if common is None or (result.key.query_id, result.key.repeat) in common]
    return all(
        first_trials_apart([result for result in some if result.key.framework == name] for name in names)
        for some in (results, shared)
    )


def _common(run: Run, results: Sequence[TrialResult]) -> frozenset[Pair] | None:
    """What was measured for every framework, where something is missing."""
    frameworks = run.config.frameworks
    if run.status == "finished" or len(frameworks) == 1:
        return None
    counts = Counter((result.key.query_id, result.key.repeat) for result in results if result.status != "not measured")
    return frozenset(pair for pair, count in counts.items() if count == len(frameworks))
