"""A completed case, and its row in the results file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from trialbed.wire import ANSWERED, Reading
from trialbed_verify.call_schemas import CallVerdict, all_valid
from trialbed_verify.findings import CALL_REASONS, PROTOCOL_ERRORS, UNRELIABLE_COUNT, examine
from trialbed_verify.verification.cases import Case
from trialbed_verify.verification.results._row import Row
from trialbed_verify.verification.targets import Target
from trialbed_verify.verification.wire import EndpointAttempt, PreparedRequest, milliseconds

SHORTEST_DECODE = 0.01
"""Least seconds from the first token to the last byte for a rate of tokens: arrivals are known to milliseconds."""


@dataclass(frozen=True, slots=True)
class CompletedCase:
    """A case after its last attempt.

    Attributes:
        reading: of the last attempt.
        verdicts: on the calls of its first choice.
        queued: seconds that the case waited for the circuit breaker.
        lag: the event loop's worst lag during the last attempt, in seconds.
    """

    case: Case
    trial: int
    prepared: PreparedRequest
    attempts: Sequence[EndpointAttempt]
    reading: Reading
    verdicts: tuple[CallVerdict, ...]
    queued: float
    lag: float


def result_row(target: Target, config: str, completed: CompletedCase) -> Row:
    """Return the row of a case."""
    reading, last = completed.reading, completed.attempts[-1]
    success = reading.outcome in ANSWERED
    triggered = reading.outcome == "tool_calls"
    usage = (reading.answer.usage or {}) if success else {}
    tokens = usage.get("completion_tokens")
    row: Row = {
        "data_index": completed.case.index,
        "request": completed.prepared.request,
        "extra_body": target.settings.extra_body,
        "response": reading.response if success else _failure(reading),
        "status": "success" if success else "failed",
        "finish_reason": reading.finish_reason if success else None,
        "tool_calls_valid": all_valid(completed.verdicts) if triggered else None,
        "last_run_at": datetime.now(UTC).isoformat(),
        "duration_ms": round(last.duration * 1000),
        "hash": completed.prepared.digest,
        "prompt_tokens": usage.get("prompt_tokens"),
        "completion_tokens": tokens,
        "total_tokens": usage.get("total_tokens"),
        "ttft_ms": milliseconds(last.first_token) if success else None,
        "tps": _rate(reading.answer.hidden_tokens, tokens, last) if success else None,
        "case": completed.case.identity,
        "trial": completed.trial,
        "config": config,
        "vendor": target.name,
        "model": target.settings.model,
        "outcome": reading.outcome,
        "problem": reading.problem.as_json() if reading.problem else None,
        "notes": list(reading.notes),
        "calls": [verdict.as_json() for verdict in completed.verdicts],
        "attempts": [attempt.as_json() for attempt in completed.attempts],
        "queued_ms": milliseconds(completed.queued),
        "loop_lag_ms": milliseconds(completed.lag),
        "served": _served_by(reading.response),
    }
    if isinstance(suite := completed.case.body.get("suite"), dict):
        row["suite"] = suite
    found = examine(row, reading.excerpts, _counter(target))
    # The kinds of problems and the reasons of invalid calls have fields of their own already.
    row["notes"] = [one.kind for one in found if one.kind not in PROTOCOL_ERRORS and one.kind not in CALL_REASONS]
    if any(one.kind in UNRELIABLE_COUNT for one in found):
        row["tps"] = None
    row["findings"] = [one.as_json() for one in found]
    return row


def _counter(target: Target) -> Callable[[str], int | None] | None:
    """Counts tokens with the tokenizer of raw completions, where there is one."""
    tokenizer, adapter = target.settings.tokenizer, target.adapter
    if tokenizer is None:
        return None

    def count(text: str) -> int | None:
        try:
            return adapter.count_tokens(text, tokenizer)
        except Exception:  # noqa: BLE001 - a third party's driver must not cost an answer that was paid for
            return None

    return count


def _failure(reading: Reading) -> dict[str, Any]:
    problem = reading.problem
    kind, message = (problem.kind, problem.message) if problem else (reading.outcome, "")
    return {"error_type": kind, "error_message": message, "error": message, "partial": reading.response}


def _rate(hidden: int, tokens: int | None, attempt: EndpointAttempt) -> float | None:
    """Completion tokens per second of decoding, from the first token to the last byte.

    None if that time is too short to measure: the answer came in one piece, and the time is the network's.
    """
    if tokens is None or attempt.first_token is None:
        return None
    seconds = attempt.duration - attempt.first_token
    shown = tokens - hidden
    return round(shown / seconds, 3) if seconds >= SHORTEST_DECODE and shown > 0 else None


def _served_by(response: dict[str, Any] | None) -> dict[str, str | None]:
    values = {key: (response or {}).get(key) for key in ("id", "model", "system_fingerprint", "provider")}
    return {key: value if isinstance(value, str) else None for key, value in values.items()}
