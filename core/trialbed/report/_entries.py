"""One trial in a result document."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from trialbed.answers import answer_document
from trialbed.records import Answer, GoldAnswer, Json, Query, Score, SentCall, TrialResult, Usage, WireLog
from trialbed.tool_calls import claimed_pairs, observed_pairs
from trialbed.wire_log import (
    failed,
    finish_reasons,
    observed_usage,
    refused_requests,
    repeated_requests,
    text_calls,
    truncated,
)

NO_ANSWER = Answer(final_answer="")
SHOWN_ELSEWHERE = ("sopr_score", "claimed_vs_observed")
"""Scores whose details stand under ``evaluation`` and ``wire``."""


def is_finished(result: TrialResult) -> bool:
    """Return whether the agent ended by itself, with an answer that counts."""
    answer = result.outcome.answer
    return result.status == "answered" and answer is not None and answer.finish is not None


def sent_calls(wire: WireLog) -> list[SentCall]:
    """The calls that the model sent, in order."""
    return [call for turn in wire.model_calls for call in turn.tool_calls]


def entry(query: Query, result: TrialResult, gold: GoldAnswer | None = None) -> dict[str, Any]:
    """Return one of the document's ``results``; a failed trial has the same keys and ``error``.

    Args:
        gold: the answers to the query's expected calls, if the run made them.
    """
    answer = result.outcome.answer or NO_ANSWER
    if result.status != "answered":  # an agent's words on a refusal do not count; its claims stay
        answer = answer.model_copy(update={"final_answer": "", "finish": None})
    finished = is_finished(result)
    document = {
        "query_id": query.query_id,
        "repeat": result.key.repeat,
        "status": result.status,
        "attempt": result.attempt,
        "query_text": query.text,
        "gold_apis": [list(ref.pair) for ref in query.gold_apis],
        "gold_answer_time": gold.seconds if gold else None,
        "gold_api_responses": len(gold.responses) if gold else None,
        "gold_answer": _gold_answer(query, gold),
        "gold_responses": _gold_responses(gold),
        "selected_tools_count": len(result.selected_tools),
        "selected_tools": list(result.selected_tools),
        "topped_up_tools": list(result.topped_up_tools),
        "system_answer_time": result.outcome.wall_time,
        "system_answer": {"final_answer": answer.final_answer, "has_finish": finished},
        "scores": _scores(result, finished=finished),
        "score_details": _details(result),
        "called_apis": observed_pairs(result.wire),
        "evaluation": _evaluation(result, finished=finished),
        "timing": _timing(result, gold),
        "final_answer": answer.final_answer,
        "answer_details": answer_document(answer)["answer"]["answer_details"],
        "tokens": _tokens(result, answer),
        "wire": wire_summary(result, answer),
        "seed": result.seed,
        "trial": result.trial,
        "started_at": result.outcome.started_at.isoformat(),
    }
    return document | _error(result) | _earlier(result)


def _gold_answer(query: Query, gold: GoldAnswer | None) -> dict[str, Any]:
    """The dataset's reference answer; without one, the responses to expected calls, as StableToolBench's runners do."""
    found = query.reference_answer
    if found is None and gold is not None:
        found = "\n".join(_text(response) for response in gold.responses)
    return {"final_answer": found or "", "has_finish": found is not None}


def _text(response: Json) -> str:
    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)


def _gold_responses(gold: GoldAnswer | None) -> list[dict[str, Any]] | None:
    if gold is None:
        return None
    return [
        {
            "api": list(call.api.pair),
            "arguments": call.arguments,
            "error": call.error,
            "response": call.response,
            "provenance": call.provenance,
            "time": call.duration,
        }
        for call in gold.calls
    ]


def failed_scores(zeros: Iterable[str]) -> dict[str, Any]:
    """Return the ``scores`` of a trial that failed, which has some as 0."""
    values = {"sopr_score": None, "api_call_score": None, **dict.fromkeys(zeros, 0.0)}
    return {**values, "answer_status": "Error", "has_finish": False}


def _scores(result: TrialResult, *, finished: bool) -> dict[str, Any]:
    values: dict[str, Any] = {"sopr_score": None, "api_call_score": None}
    if result.status == "failed":
        return failed_scores(())
    if result.status == "not measured":
        return {**values, "answer_status": "Error", "has_finish": None}
    values.update({score.name: score.value for score in result.scores})
    sopr = result.score("sopr_score")
    values["answer_status"] = sopr.label if sopr and sopr.value is not None else "Error"
    values["has_finish"] = finished
    return values


def _details(result: TrialResult) -> dict[str, Any]:
    details = {score.name: _detail(score) for score in result.scores}
    return {name: detail for name, detail in details.items() if detail}


def _detail(score: Score) -> dict[str, Any]:
    detail = {} if score.name in SHOWN_ELSEWHERE else dict(score.detail)
    if score.failure is not None:
        detail["failure"] = {"kind": score.failure.kind, "message": score.failure.message}
    return detail


def _evaluation(result: TrialResult, *, finished: bool) -> dict[str, Any]:
    sopr = result.score("sopr_score")
    detail = sopr.detail if sopr else {}
    failure = sopr.failure.message if sopr and sopr.failure else None
    return {
        "has_finish": finished,
        "evaluation_method": detail.get("method"),
        "method": detail.get("method"),
        "reason": failure or detail.get("reason"),
        "votes": detail.get("votes", []),
        "agreement": detail.get("agreement"),
        "ballots": detail.get("ballots", []),
    }


def _timing(result: TrialResult, gold: GoldAnswer | None) -> dict[str, Any]:
    return {
        "gold_answer_time": gold.seconds if gold else None,
        "system_answer_time": result.outcome.wall_time,
        "evaluation_time": result.evaluation_time,
        "total_time": result.outcome.wall_time + result.evaluation_time + (gold.seconds if gold else 0.0),
        "model_time": result.timing.model,
        "tool_time": result.timing.tool,
        "framework_time": result.timing.framework,
        "waiting_time": result.timing.waiting,
        "cpu_time": result.outcome.cpu_time,
        "first": result.outcome.first,
    }


def _tokens(result: TrialResult, answer: Answer) -> dict[str, Any]:
    return {**_usage(observed_usage(result.wire)), "claimed": _usage(answer.usage)}


def _usage(usage: Usage | None) -> dict[str, int | None]:
    parts = ("prompt_tokens", "completion_tokens", "total_tokens")
    return {part: getattr(usage, part) if usage else None for part in parts}


def _error(result: TrialResult) -> dict[str, Any]:
    failure = result.outcome.failure
    return {"error": failure.model_dump()} if failure else {}


def _earlier(result: TrialResult) -> dict[str, Any]:
    failures = [outcome.failure.model_dump() for outcome in result.earlier if outcome.failure]
    return {"earlier_errors": failures} if failures else {}


def wire_summary(result: TrialResult, answer: Answer) -> dict[str, Any]:
    """An entry's ``wire``.

    ``sent``, ``observed`` and ``claimed`` list the calls as (tool_name, api_name), in order: those that the
    model sent and that can be made, those that reached the virtual API, those that the agent reports. Where a
    trial failed, ``sent`` has the tools' names instead, each alone.
    """
    wire, claims = result.wire, result.score("claimed_vs_observed")
    detail = claims.detail if claims else {}
    return {
        **_model_figures(wire),
        **_api_figures(wire),
        "sent": detail.get("sent", [[call.tool_name] for call in sent_calls(wire) if call.problem is None]),
        "sent_invalid": sum(1 for call in sent_calls(wire) if call.problem is not None),
        "sent_problems": dict(Counter(call.problem for call in sent_calls(wire) if call.problem is not None)),
        "observed": observed_pairs(wire),
        "claimed": claimed_pairs(answer),
        "invented": detail.get("invented", []),
        "unreported": detail.get("unreported", []),
        "unasked": detail.get("unasked", []),
        "lost": [call.model_dump() for call in wire.lost],
        "filled": [argument.model_dump() for argument in wire.filled],
    }


def _model_figures(wire: WireLog) -> dict[str, Any]:
    calls = wire.model_calls
    return {
        "model_calls": len(calls),
        "model_errors": sum(1 for call in calls if failed(call)),
        "retries": repeated_requests(wire),
        "refused": refused_requests(wire),
        "finish_reasons": dict(finish_reasons(wire)),
        "truncated": truncated(wire),
        "text_calls": text_calls(wire),
        "request_bytes": sum(call.request_bytes for call in calls),
        "response_bytes": sum(call.response_bytes for call in calls),
    }


def _api_figures(wire: WireLog) -> dict[str, int]:
    calls = wire.api_calls
    return {
        "api_calls": len(calls),
        "api_errors": sum(1 for call in calls if call.error or call.status != 200),
        "not_offered": sum(1 for call in calls if not call.offered),
        "cached": sum(1 for call in calls if call.cached),
    }
