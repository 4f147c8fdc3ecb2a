"""One trial in a result document."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from trialbed.answers import answer_document
from trialbed.records import Answer, GoldAnswer, Json, Query, TrialResult, Usage
from trialbed.tool_calls import claimed_calls
from trialbed.wire_log import (
    failed,
    finish_reasons,
    observed_usage,
    refusals,
    repeated_requests,
)

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
