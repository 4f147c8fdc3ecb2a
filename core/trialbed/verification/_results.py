"""A case that has ended, as a row of the results file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from trialbed.verification._cases import Case
from trialbed.verification._exchange import Attempt, milliseconds
from trialbed.verification._outcomes import ANSWERED, Reading
from trialbed.verification._requests import Prepared
from trialbed.verification._schemas import CallVerdict, all_valid
from trialbed.verification._targets import Target

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ended:
    """A case that has ended.

    Attributes:
        reading: the last attempt's.
        verdicts: on the calls of its first choice.
        queued: seconds that the case waited for its turn while the vendor was left alone.
        lag: this process's own worst delay during the last attempt, in seconds.
    """

    case: Case
    trial: int
    prepared: Prepared
    attempts: Sequence[Attempt]
    reading: Reading
    verdicts: tuple[CallVerdict, ...]
    queued: float
    lag: float


def result_row(target: Target, config: str, ended: Ended) -> Row:
    """The row: K2-style keys first, then those of Agent Vendor Verifier, then ours. Unknown figures are null."""
    reading, last = ended.reading, ended.attempts[-1]
    success = reading.outcome in ANSWERED
    usage = usage_of(reading.response) if success else {}
    completion = usage.get("completion_tokens")
    return {
        "data_index": ended.case.index,
        "request": ended.prepared.request,
        "extra_body": target.settings.extra_body,
        "response": reading.response if success else _failure(reading),
        "status": "success" if success else "failed",
        "finish_reason": reading.finish_reason if success else None,
        "tool_calls_valid": all_valid(ended.verdicts) if success and reading.finish_reason == "tool_calls" else None,
        "last_run_at": datetime.now(UTC).isoformat(),
        "duration_ms": round(last.duration * 1000),
        "hash": ended.prepared.digest,
        "prompt_tokens": usage.get("prompt_tokens"),
        "completion_tokens": completion,
        "total_tokens": usage.get("total_tokens"),
        "ttft_ms": milliseconds(last.first_token) if success else None,
        "tps": _rate(completion, last) if success else None,
        "case": ended.case.identity,
        "trial": ended.trial,
        "config": config,
        "vendor": target.name,
        "model": target.settings.model,
        "outcome": reading.outcome,
        "problem": reading.problem.as_json() if reading.problem else None,
        "notes": [*reading.notes, *_notes(reading)],
        "calls": [verdict.as_json() for verdict in ended.verdicts],
        "attempts": [attempt.as_json() for attempt in ended.attempts],
        "queued_ms": milliseconds(ended.queued),
        "loop_lag_ms": milliseconds(ended.lag),
        "served": _served(reading.response),
    }


def usage_of(response: Row | None) -> dict[str, int]:
    """The token counts of a completion, wherever it has them; only those that are whole numbers."""
    found: dict[str, int] = {}
    for place in _usages(response or {}):
        found |= {key: value for key, value in place.items() if isinstance(value, int) and key.endswith("_tokens")}
    if "total_tokens" not in found and {"prompt_tokens", "completion_tokens"} <= found.keys():
        found["total_tokens"] = found["prompt_tokens"] + found["completion_tokens"]
    return found


def first_message(response: Row | None) -> Row:
    """The message of the first choice; empty if there is none."""
    for choice in (response or {}).get("choices") or ():
        if isinstance(choice, dict) and choice.get("index", 0) == 0:
            message = choice.get("message")
            return message if isinstance(message, dict) else {}
    return {}


def _usages(response: Row) -> list[dict[str, Any]]:
    """The places where vendors put usage, least trusted first."""
    choices = [choice for choice in response.get("choices") or () if isinstance(choice, dict)]
    places = [choice.get("usage") for choice in choices[:1]]
    places += [(response.get("x_groq") or {}).get("usage"), response.get("usage")]
    return [place for place in places if isinstance(place, dict)]


def _failure(reading: Reading) -> Row:
    problem = reading.problem
    kind, message = (problem.kind, problem.message) if problem else (reading.outcome, "")
    return {"error_type": kind, "error_message": message, "error": message, "partial": reading.response}


def _rate(tokens: int | None, attempt: Attempt) -> float | None:
    """Completion tokens per second of decoding: from the first token to the last byte."""
    if tokens is None or attempt.first_token is None or attempt.duration <= attempt.first_token:
        return None
    return round(tokens / (attempt.duration - attempt.first_token), 3)


def _notes(reading: Reading) -> list[str]:
    calls = first_message(reading.response).get("tool_calls")
    if reading.outcome == "tool_calls" and not calls:
        return ["tool_calls_without_calls"]
    if reading.outcome in ("stop", "other") and calls:
        return ["calls_with_other_finish"]
    return []


def _served(response: Row | None) -> Row:
    return {key: (response or {}).get(key) for key in ("id", "model", "system_fingerprint", "provider")}
