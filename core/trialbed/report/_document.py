"""The result document of one framework in one run, as StableToolBench's runners write it, and its schema."""

from __future__ import annotations

import json
import logging
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from zlib_ng import zlib_ng

from trialbed.answers import answer_document
from trialbed.records import Answer, GoldAnswer, Json, Query, TrialKey, TrialResult, Usage
from trialbed.report._files import clean, json_bytes
from trialbed.report._metadata import legacy_metadata
from trialbed.report._report import Queries, Report
from trialbed.report._summary import QueryId, ScoreMean, Summary
from trialbed.scoring import TIMES
from trialbed.settings import declared_settings, secret_values
from trialbed.statistics import LEVEL
from trialbed.tool_calls import claimed_calls
from trialbed.wire.redaction import redaction_of
from trialbed.wire_log import failed, finish_reasons, observed_usage, refusals, repeated_requests

ANSWERED = ("arguments", "error", "response", "provenance")
"""Fields of an expected call that was made."""

NO_ANSWER = Answer(final_answer="")
VERDICT: dict[str, Json] = {"method": None, "reason": None, "votes": [], "agreement": None, "ballots": []}
"""Details of the judge's score with their defaults."""

SHOWN_ELSEWHERE = ("sopr_score", "claimed_vs_observed")
"""Scores with details under ``evaluation`` and ``wire``."""


def entry(query: Query, result: TrialResult, gold: GoldAnswer | None = None) -> dict[str, Any]:
    """Return an item of the document's ``results``; a failed trial has the same keys and ``error``.

    Args:
        gold: the answers to the query's expected calls, if the run made them.
    """
    answer, outcome = result.outcome.answer or NO_ANSWER, result.outcome
    if result.status != "answered":  # an agent's words on a refusal do not count; its claims stay
        answer = answer.model_copy(update={"final_answer": "", "finish": None})
    finished = answer.finish is not None
    reference = query.reference_answer
    if reference is None and gold is not None:  # as StableToolBench's runners do
        texts = (one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in gold.responses)
        reference = "\n".join(texts)
    responses = [
        {"api": list(call.api.pair), **{name: getattr(call, name) for name in ANSWERED}, "time": call.duration}
        for call in (gold.calls if gold else ())
    ]
    details = {
        score.name: ({} if score.name in SHOWN_ELSEWHERE else score.detail)
        | ({"failure": score.failure.model_dump(exclude={"detail"})} if score.failure else {})
        for score in result.scores
    }
    sopr = result.score("sopr_score")
    verdict = sopr.detail if sopr else {}
    scores = failed_scores(()) | ({} if result.status == "failed" else {"has_finish": None})
    if result.status == "answered":
        label = sopr.label if sopr and sopr.value is not None else "Error"
        scores = {"sopr_score": None, "api_call_score": None, **{score.name: score.value for score in result.scores}}
        scores |= {"answer_status": label, "has_finish": finished}
    document: dict[str, Any] = {
        "query_id": query.query_id,
        "repeat": result.key.repeat,
        "status": result.status,
        "attempt": result.attempt,
        "query_text": query.text,
        "gold_apis": [list(ref.pair) for ref in query.gold_apis],
        "gold_answer_time": gold.seconds if gold else None,
        "gold_api_responses": len(gold.responses) if gold else None,
        "gold_answer": {"final_answer": reference or "", "has_finish": reference is not None},
        "gold_responses": responses if gold else None,
        "selected_tools_count": len(result.selected_tools),
        "selected_tools": list(result.selected_tools),
        "topped_up_tools": list(result.topped_up_tools),
        "system_answer_time": outcome.wall_time,
        "system_answer": {"final_answer": answer.final_answer, "has_finish": finished},
        "scores": scores,
        "score_details": {name: detail for name, detail in details.items() if detail},
        "called_apis": [call.api.pair for call in result.wire.api_calls],
        "evaluation": {
            "has_finish": finished,
            "evaluation_method": verdict.get("method"),
            **{name: verdict.get(name, default) for name, default in VERDICT.items()},
            **({"reason": sopr.failure.message} if sopr and sopr.failure else {}),
        },
        "timing": {
            "gold_answer_time": gold.seconds if gold else None,
            "system_answer_time": outcome.wall_time,
            "evaluation_time": result.evaluation_time,
            "total_time": outcome.wall_time + result.evaluation_time + (gold.seconds if gold else 0.0),
            **{f"{part}_time": getattr(result.timing, part) for part in ("model", "tool", "framework", "waiting")},
            "cpu_time": outcome.cpu_time,
            "first": outcome.first,
        },
        "final_answer": answer.final_answer,
        "answer_details": answer_document(answer)["answer"]["answer_details"],
        "tokens": {**_usage(observed_usage(result.wire)), "claimed": _usage(answer.usage)},
        "wire": _wire(result, answer),
        "seed": result.seed,
        "trial": result.trial,
        "started_at": outcome.started_at.isoformat(),
    }
    if outcome.failure:
        document["error"] = outcome.failure.model_dump()
    if earlier := [one.failure.model_dump() for one in result.earlier if one.failure]:
        document["earlier_errors"] = earlier
    if result.gold_calls is not None:
        document["gold_calls"] = [
            {
                "api": one.gold.api.pair,
                "arguments": one.gold.arguments,
                "lost": one.lost,
                "reason": one.reason,
                **({"requests": list(one.requests)} if one.requests else {}),
            }
            for one in result.gold_calls
        ]
    return document


def failed_scores(zeros: Iterable[str]) -> dict[str, Any]:
    """Return the ``scores`` of a trial that failed, which has some as 0."""
    values = {"sopr_score": None, "api_call_score": None, **dict.fromkeys(zeros, 0.0)}
    return {**values, "answer_status": "Error", "has_finish": False}


def _usage(usage: Usage | None) -> dict[str, int | None]:
    parts = ("prompt_tokens", "completion_tokens", "total_tokens")
    return {part: getattr(usage, part) if usage else None for part in parts}


def _wire(result: TrialResult, answer: Answer) -> dict[str, Any]:
    """Return an entry's ``wire``.

    ``sent``, ``observed`` and ``claimed`` list the calls as (tool_name, api_name), in order: the model's calls that can
    be made, the calls that reached the virtual API, and the calls that the agent reports. If a trial failed, ``sent``
    has the tools' names instead, each alone.
    """
    wire, claims = result.wire, result.score("claimed_vs_observed")
    detail = claims.detail if claims else {}
    turns, calls = wire.model_calls, wire.api_calls
    sent, reasons = [call for turn in turns for call in turn.tool_calls], finish_reasons(wire)
    problems = Counter(call.problem for call in sent if call.problem is not None)
    return {
        "model_calls": len(turns),
        "model_errors": sum(map(failed, turns)),
        "retries": repeated_requests(wire),
        "refused": refusals(wire).total(),
        "finish_reasons": reasons,
        "truncated": reasons["length"],
        "text_calls": [call.name for turn in turns for call in turn.text_calls],
        "request_bytes": sum(call.request_bytes for call in turns),
        "response_bytes": sum(call.response_bytes for call in turns),
        "api_calls": len(calls),
        "api_errors": sum(1 for call in calls if call.error or call.status != 200),
        "not_offered": sum(1 for call in calls if not call.offered),
        "cached": sum(1 for call in calls if call.cached),
        "sent": detail.get("sent", [[call.tool_name] for call in sent if call.problem is None]),
        "sent_invalid": problems.total(),
        "sent_problems": dict(problems),
        "observed": [call.api.pair for call in calls],
        "claimed": [pair for pair, _ in claimed_calls(answer)],
        **{name: detail.get(name, []) for name in ("invented", "unreported", "unasked")},
        "lost": [call.model_dump() for call in wire.lost],
        "filled": [argument.model_dump() for argument in wire.filled],
    }


log = logging.getLogger("trialbed.plugins")

Entries = dict[tuple[TrialKey, int], bytes]
"""Trial and attempt -> its entry as compressed JSON."""

ALWAYS_THERE = ("prompt_tokens", "completion_tokens", "total_tokens", "model_turns", *TIMES)
"""Figures that are null if no trial has them."""

STATUSES = ("solved", "unsure", "unsolved")

FIRST_TRIAL = ("count", "message", "query_id", "repeat", "entry")
"""Fields of a reason that are about the trials which have it."""

JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def legacy_document(report: Report, framework: str) -> dict[str, Any]:
    """Return ``{"metadata", "summary", "results"}``, ready to be written as JSON; its schema is ``document_schema()``.

    Keys that StableToolBench's runners write have their names and meanings; failures count as 0 there and here.
    Differences: unless the run made the expected calls itself, ``gold_answer_time``, ``gold_api_responses`` and their
    average are null; if the dataset has a reference answer, that is the ``gold_answer``; failures enter no average
    of times; a trial that was not measured has null scores and enters no average.
    """
    label = report[framework].framework
    return next(one for one in legacy_documents(report) if one["metadata"]["agent_name"] == label)


def legacy_documents(report: Report) -> list[dict[str, Any]]:
    """Return the documents of all frameworks."""
    return [{**document, "results": list(map(json.loads, entries))} for document, entries in each_document(report)]


def add_entries(
    entries: Entries, queries: Queries, results: Iterable[TrialResult], gold: Mapping[QueryId, GoldAnswer] | None = None
) -> None:
    """Add the entries of trials, to avoid reading these again at the end of a run.

    Args:
        gold: the answers to the expected calls of queries, if the run made them.
    """
    answers, secrets = gold or {}, secret_values()
    # A secret that JSON escapes need not be found in it.
    escaped = any(json.dumps(secret, ensure_ascii=False) != f'"{secret}"' for secret in secrets)
    for result in results:
        query = queries[result.key.query_id]
        found = entry(query, result, answers.get(query.query_id))
        text = json_bytes(found)
        if escaped or redaction_of(secrets).finds(text.decode()):
            text = json_bytes(clean(found, secrets))
        entries[result.key, result.attempt] = zlib_ng.compress(text, 1)


def _entries_of(summary: Summary, entries: Entries) -> Iterator[bytes]:
    quality = [score.name for score in summary.scores.values() if score.quality]
    for row in summary.trials:
        text = zlib.decompress(entries[row.key, int(row["attempt"])])
        if row.status == "failed":  # which scores it has as 0 is known at the end alone
            absent = row["absent"].split(",")
            found = json.loads(text)  # a message may hold half of a pair of surrogates
            found["scores"] = failed_scores(name for name in quality if name not in absent)
            text = json_bytes(found)
        yield text


def each_document(report: Report, entries: Entries | None = None) -> Iterator[tuple[dict[str, Any], Iterator[bytes]]]:
    """Yield each framework's document without its results, and these as JSON, one by one.

    Args:
        entries: the known ones; the others are read from the store.
    """
    known: Entries = {} if entries is None or report.gold else entries
    missing = [int(row["row"]) for row in report.table if (row.key, int(row["attempt"])) not in known]
    if missing:
        add_entries(known, report.queries, report.results(missing), report.gold)
    for one in report.frameworks:
        about, summary = legacy_metadata(one.run, one.framework, one.trials), legacy_summary(one)
        yield {"metadata": about, "summary": summary, "results": []}, _entries_of(one, known)


def legacy_summary(summary: Summary) -> dict[str, Any]:
    """Return the document's ``summary``."""
    counts, times, scores = summary.counts, summary.times, summary.scores
    judged, tokens = counts.judged, summary.tokens
    recorded = {"recorded_requests": tokens.recorded_requests, "recorded_tokens": tokens.recorded}
    priced = {"cost": tokens.cost, "cost_per_solved": summary.cost_per_solved}
    figures: dict[str, Any] = {
        "total_queries": counts.queries,
        "total_trials": counts.trials,
        **{f"{name}_count": getattr(counts, name) for name in ("answered", "failed", "not_measured")},
        "error_count": counts.trials - counts.answered,
        "errors": counts.failures,
        "failures": [_fields(found, "kind", "status", *FIRST_TRIAL) for found in summary.failures],
    }
    for status in STATUSES:
        count = getattr(counts, status)
        figures |= {f"{status}_count": count, f"{status}_percentage": 100 * count / judged if judged else None}
    figures |= {
        "finish_count": counts.finished,
        "finish_percentage": 100 * counts.finished / counts.finish_known if counts.finish_known else None,
        **{f"average_{name}": None for name in ALWAYS_THERE},
        **{f"average_{name}": found.value for name, found in scores.items()},
        "average_gold_answer_time": times.gold,
        "average_system_answer_time": times.answer,
        "average_evaluation_time": times.evaluation,
        "overall_time": summary.run.overall_time,
        "quality_scores": [name for name, found in scores.items() if found.quality],
        "over_answered": _figures(counts.answered, summary.over_answered),
        "common": None if summary.common is None else _figures(summary.common_trials, summary.common),
        "medians": {name: found.median for name, found in scores.items() if found.median is not None},
        "quartiles": {name: found.quartiles for name, found in scores.items() if found.quartiles is not None},
        "pass_at_k": {str(k): _estimate(found) for k, found in summary.success["any"].items()},
        "pass_hat_k": {str(k): _estimate(found) for k, found in summary.success["each"].items()},
        "first_trials": {"count": times.first_trials, "kept_apart": times.first_apart, "averages": times.first},
        "denominators": {
            **{name: found.denominator for name, found in scores.items()},
            **{name: 0 for name in ALWAYS_THERE if name not in scores},
            **dict.fromkeys(STATUSES, judged),
            "finish": counts.finish_known,
            "system_answer_time": times.timed,
            "evaluation_time": counts.answered,
            "gold_answer_time": times.gold_trials,
        },
        "intervals": {name: found.interval for name, found in scores.items() if found.interval},
        "interval_level": LEVEL,
        "untold_scores": {found.score: found.count for found in summary.untold},
        "untold_reasons": [_fields(found, "score", "kind", *FIRST_TRIAL) for found in summary.untold],
        "claims": summary.claims,
        **{name: found for name, found in summary.wire.items() if name != "waited"},
        "totals": {
            "prompt_tokens": tokens.prompt,
            "completion_tokens": tokens.completion,
            "total_tokens": tokens.total,
            "model_requests": tokens.requests,
            "unreported_requests": tokens.unreported,
            **(recorded if tokens.recorded_requests else {}),
            **(priced if tokens.cost is not None else {}),
        },
        "repeated": summary.repeated,
    }
    if not figures["translated_requests"]["requests"]:
        del figures["translated_requests"]
    if taken := sorted(figures.keys() & summary.extra.keys()):
        log.error("a plugin's aggregate_scores gives %r, which the summary already has: rename it", taken[0])
    cleaned: dict[str, Any] = clean({**figures, **summary.extra, **figures}, secret_values())
    lost, integrity = summary.attribution, summary.integrity
    cleaned["attribution"] = {"gold_calls": lost.gold_calls, "counts": dict(lost.counts), "shares": lost.shares}
    if integrity.trials:
        findings = {kind: clean(asdict(tally), ()) for kind, tally in integrity.found.items()}
        cleaned["integrity"] = {"trials": integrity.trials, "void": integrity.void or None, "findings": findings}
    cleaned["comparisons"] = [
        {"kind": one.kind, "against": one.against}
        | {"scores": {score: finding.as_json() for score, finding in one.scores.items()}}
        for one in summary.comparisons
    ]
    if summary.ranks is not None:
        cleaned["ranks"] = {score: list(rank) for score, rank in summary.ranks.items()}
    return cleaned


def _fields(record: object, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


def _figures(trials: int, scores: Mapping[str, ScoreMean]) -> dict[str, Any]:
    return {
        "trials": trials,
        "averages": {name: mean.value for name, mean in scores.items()},
        "denominators": {name: mean.denominator for name, mean in scores.items()},
        "intervals": {name: mean.interval for name, mean in scores.items() if mean.interval},
    }


def _estimate(found: ScoreMean) -> dict[str, Any]:
    low, high = found.interval or (None, None)
    return {"value": found.value, "low": low, "high": high, "n": found.denominator}


def document_schema() -> dict[str, Any]:
    """Return the schema (JSON Schema 2020-12) that every result document satisfies."""
    schema: dict[str, Any] = json.loads(files("trialbed.report").joinpath("document.schema.json").read_text())
    metadata_schema = schema["properties"]["metadata"]
    for setting in declared_settings():
        if setting.document:
            kind, text = JSON_TYPES[setting.kind], setting.setting.help.partition(" [default")[0].rstrip(".")
            metadata_schema["required"].append(setting.document)
            metadata_schema["properties"][setting.document] = {
                "description": text[0].lower() + text[1:],
                "type": [kind, "null"] if setting.optional or setting.usual is None else kind,
            }
    model = metadata_schema["properties"]["model"]
    model |= {"description": f"{model['description']}; null if no trial asked it", "type": ["string", "null"]}
    return schema
