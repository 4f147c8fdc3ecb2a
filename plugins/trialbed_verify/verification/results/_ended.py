"""A case that has ended, as a row of the results file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from trialbed.chat import ANSWERED, Reading, first_message, hidden_tokens, usage_of
from trialbed_verify.verification.cases import CallVerdict, Case, all_valid
from trialbed_verify.verification.targets import Target
from trialbed_verify.verification.wire import Attempt, Prepared, milliseconds

Row = dict[str, Any]

SHORTEST_DECODE = 0.01
"""Seconds from the first token to the last byte below which there is no rate: arrival is known to milliseconds."""


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
        "tps": _rate(reading.response, completion, last) if success else None,
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


def _failure(reading: Reading) -> Row:
    problem = reading.problem
    kind, message = (problem.kind, problem.message) if problem else (reading.outcome, "")
    return {"error_type": kind, "error_message": message, "error": message, "partial": reading.response}


def _rate(response: Row | None, tokens: int | None, attempt: Attempt) -> float | None:
    """Completion tokens per second of decoding: from the first token to the last byte.

    None where that is too short to be measured: the answer came in one piece, and its time is the network's.
    """
    if tokens is None or attempt.first_token is None:
        return None
    seconds = attempt.duration - attempt.first_token
    shown = tokens - hidden_tokens(response)
    return round(shown / seconds, 3) if seconds >= SHORTEST_DECODE and shown > 0 else None


def _notes(reading: Reading) -> list[str]:
    calls = first_message(reading.response).get("tool_calls")
    if reading.outcome == "tool_calls" and not calls:
        return ["tool_calls_without_calls"]
    if reading.outcome in ("stop", "other") and calls:
        return ["calls_with_other_finish"]
    return []


def _served(response: Row | None) -> Row:
    told = {key: (response or {}).get(key) for key in ("id", "model", "system_fingerprint", "provider")}
    return {key: value if isinstance(value, str) else None for key, value in told.items()}
