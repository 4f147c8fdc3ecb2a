"""The result document of one framework in one run, and its schema."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC
from importlib.resources import files
from typing import Any

from trialbed.errors import DataError
from trialbed.records import FrameworkInfo, GoldAnswer, Query, Run, TrialResult, framework_profile
from trialbed.report._entries import brief_entry, entry
from trialbed.report._means import without_arguments, zero_scores
from trialbed.report._summary import summary
from trialbed.scoring import quality_scores
from trialbed.settings import Declared, declared_settings, document_settings, secret_values
from trialbed.wire.redaction import redact, shown_url

QueryId = int | str


def result_document(
    run: Run,
    framework: str,
    queries: Mapping[QueryId, Query],
    results: Sequence[TrialResult],
    extra_summary: Mapping[str, Any],
    *,
    quality: Collection[str] = (),
    common: Collection[tuple[QueryId, int]] | None = None,
    earlier: Sequence[TrialResult] = (),
    first_apart: bool | None = None,
    gold: Mapping[QueryId, GoldAnswer] | None = None,
    brief: bool = False,
) -> dict[str, Any]:
    """``{"metadata", "summary", "results"}``, ready to be written as JSON; its schema is ``document_schema()``.

    Keys that StableToolBench's runners write have their names and meanings; failures count as 0 there and here.
    Differences: unless the run made the gold calls itself, ``gold_answer_time``, ``gold_api_responses`` and their
    average are null; where the dataset has a reference answer, that is the ``gold_answer``; failures enter no average
    of times; a trial that was not measured has null scores and enters no average.

    Args:
        framework: whose trials these are; names the agent.
        queries: the run's queries by id.
        results: the framework's trials, failed ones too; one entry each, in the order of the run's queries.
        extra_summary: what plugins add to the summary.
        quality: the scores that say how good an answer is, over all frameworks of the run: a failed trial has them as
            0. Those of these results where none are given.
        common: the queries and repeats that were measured for every framework, for figures over those.
        earlier: the framework's attempts that do not count; what they used is in the totals.
        first_apart: whether times leave out each worker's first trial, as ``first_trials_apart`` says of all
            frameworks of the run; None for wherever there are others.
        gold: what the gold calls of queries were answered, where the run made them.
        brief: whether the entries have only the parts that ``brief_entry`` names, as for a table.

    Raises:
        DataError: a plugin's key is one that the summary has, or a trial is about a query that is not given.
    """
    ordered = _ordered(queries, results)
    quality = quality or quality_scores(ordered)
    bare = without_arguments(queries.values())
    gold = gold or {}
    figures = summary(run, ordered, quality, common, earlier, bare, first_apart, gold=gold)
    taken = sorted(figures.keys() & extra_summary.keys())
    if taken:
        raise DataError(f"a plugin's aggregate_scores gives {taken[0]!r}, which the summary already has; rename it")
    secrets = secret_values()
    entries = (_entry(queries[result.key.query_id], result, quality, bare, gold, brief=brief) for result in ordered)
    return {
        "metadata": clean(metadata(run, framework), ()),
        "summary": clean({**figures, **extra_summary}, secrets),
        "results": [clean(each, secrets) for each in entries],
    }


def _entry(
    query: Query,
    result: TrialResult,
    quality: Collection[str],
    bare: Collection[QueryId],
    gold: Mapping[QueryId, GoldAnswer],
    *,
    brief: bool,
) -> dict[str, Any]:
    zeros = zero_scores(quality, query.query_id, bare)
    return brief_entry(query, result, zeros) if brief else entry(query, result, zeros, gold.get(query.query_id))


def _ordered(queries: Mapping[QueryId, Query], results: Sequence[TrialResult]) -> list[TrialResult]:
    places = {query_id: place for place, query_id in enumerate(queries)}
    for result in results:
        if result.key.query_id not in places:
            raise DataError(f"there is a trial of query {result.key.query_id!r}, which is not one of the run's queries")
    return sorted(results, key=lambda result: (places[result.key.query_id], result.key.repeat))


def metadata(run: Run, framework: str) -> dict[str, Any]:
    """The document's ``metadata``. Times are seconds; ``timestamp`` is when the run began, in UTC."""
    config = run.config
    return {
        "agent_name": framework,
        "test_set": config.test_set,
        "num_queries": len(config.query_ids),
        "server_url": run.server_url,
        "timestamp": run.created_at.astimezone(UTC).isoformat(),
        "overall_time": run.overall_time,
        "run_id": run.run_id,
        "status": run.status,
        "config_digest": run.config_digest,
        "trialbed_version": config.trialbed_version,
        **_framework(run, framework),
        **document_settings(config),
        "model_name": config.told_model,
        "base_url": None if config.base_url is None else shown_url(config.base_url),
        "judge": dict(run.judge) or None,
        "dataset_digest": config.dataset_digest,
        "catalog": list(config.catalog),
        "catalog_digest": config.catalog_digest,
        "catalog_apis": config.catalog_apis,
        "environment_digest": run.environment_digest,
    }


def _framework(run: Run, name: str) -> dict[str, Any]:
    info: FrameworkInfo | None = next((info for info in run.frameworks if info.name == name), None)
    deviations = [deviation.text for deviation in info.deviations] if info else []
    return {
        "framework": name,
        "profile": framework_profile(name) if name in run.config.adapter_versions else None,
        "command": run.config.command(name),
        "framework_version": info.version if info else None,
        "adapter": info.adapter if info else None,
        "adapter_version": info.adapter_version if info else None,
        "python": info.python if info else None,
        "packages": list(info.packages) if info else [],
        "lock_digest": (info.lock_digest or None) if info else None,
        "sandbox_mechanisms": list(info.sandbox) if info else [],
        "deviations": deviations,
        "capabilities": deviations,
    }


JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def document_schema() -> dict[str, Any]:
    """The schema (JSON Schema 2020-12) that every result document satisfies."""
    schema: dict[str, Any] = json.loads(files("trialbed.report").joinpath("document.schema.json").read_text())
    metadata = schema["properties"]["metadata"]
    settings = {setting.document: _property(setting) for setting in declared_settings() if setting.document}
    metadata["required"] += settings
    metadata["properties"] |= settings
    return schema


def _property(setting: Declared) -> dict[str, Any]:
    kind = JSON_TYPES[setting.kind]
    text = setting.setting.help.partition(" [default")[0].rstrip(".")
    description = text[0].lower() + text[1:]
    return {"description": description, "type": [kind, "null"] if setting.optional else kind}


def clean(value: Any, secrets: Collection[str]) -> Any:
    """The value in JSON's own types: tuples as lists, NaN and infinities as null, secrets redacted."""
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): clean(item, secrets) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item, secrets) for item in value]
    return value
