"""Make, redact, store and write the row of a case."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any, BinaryIO, Literal, NotRequired, TypedDict
from urllib.parse import quote

from trialbed.files import replacing
from trialbed.records import Attempt, Failure, TrialResult
from trialbed.settings import MIN_SECRET, REDACTED
from trialbed.store import StoredRun, verified_cases
from trialbed.wire import ANSWERED, Reading, dump_json, parse_json, parse_json_fast
from trialbed.wire import Outcome as WireOutcome
from trialbed.wire.dialects.chat_completions import answered_calls, first_choice, first_message
from trialbed.wire.redaction import redaction_of
from trialbed_verify.call_schemas import CallFields, all_valid, call_verdicts
from trialbed_verify.findings import CALL_REASONS, PROTOCOL_ERRORS, UNRELIABLE_COUNT, examine
from trialbed_verify.rows import FileRows, PlacedRow, row_line
from trialbed_verify.table import Answers, read_rows
from trialbed_verify.verification.cases import Case
from trialbed_verify.verification.exchange import AttemptFields, EndpointAttempt, milliseconds
from trialbed_verify.verification.targets import PreparedRequest, Target

SHORTEST_DECODE = 0.01
"""Least seconds from the first token to the last byte for a rate of tokens: arrivals are known to milliseconds."""

ENDS = (b'"', b"\\u2026", "…".encode())
"""Marks that follow a text that was cut off: the end of its string, or an ellipsis."""


class Row(TypedDict):
    """A row of a results file, with the fields of K2-style tools, of Agent Vendor Verifier and of Trialbed.

    Unknown figures and all figures of failures are None. The fields are in this order.

    Attributes:
        request: the body that was sent, without ``extra_body``.
        response: the completion; for a failure, its kind, its message and the part received.
        hash: MD5 of the request as the K2-style tools compute it.
        case, config: the identity of the test set's line, and the digest of the target's configuration.
        served: id, model, fingerprint and provider that the answer names.
    """

    data_index: int
    request: dict[str, Any]
    extra_body: dict[str, Any]
    response: dict[str, Any] | None
    status: Literal["success", "failed"]
    finish_reason: str | None
    tool_calls_valid: bool | None
    last_run_at: str
    duration_ms: int
    hash: str
    prompt_tokens: int | None
    completion_tokens: int | None
    total_tokens: int | None
    ttft_ms: float | None
    tps: float | None
    case: str
    trial: int
    config: str
    vendor: str
    model: str
    outcome: WireOutcome
    problem: dict[str, str] | None
    notes: list[str]
    calls: list[CallFields]
    attempts: list[AttemptFields]
    queued_ms: float | None
    loop_lag_ms: float | None
    served: dict[str, str | None]
    suite: NotRequired[dict[str, Any]]
    findings: NotRequired[list[dict[str, str]]]


def result_row(
    target: Target,
    config: str,
    case: Case,
    trial: int,
    prepared: PreparedRequest,
    attempts: Sequence[EndpointAttempt],
    *,
    queued: float,
    lag: float,
) -> Row:
    """Return the row of a case after its last attempt.

    Args:
        config: digest of the target's configuration.
        queued, lag: seconds that the case waited for the circuit breaker, and the loop's worst lag in the last attempt.
    """
    last = attempts[-1]
    reading = _with_raw_calls(target, last.reading)
    problem = reading.problem.as_json() if reading.problem else None
    success = reading.outcome in ANSWERED
    usage = (reading.answer.usage or {}) if success else {}
    calls = answered_calls(first_message(reading.response)) if success else ()
    verdicts = call_verdicts(calls, prepared.tools) if calls else []
    served = ((name, (reading.response or {}).get(name)) for name in ("id", "model", "system_fingerprint", "provider"))
    row: Row = {
        "data_index": case.index,
        "request": prepared.request,
        "extra_body": target.settings.extra_body,
        "response": reading.response if success else _failure(reading),
        "status": "success" if success else "failed",
        "finish_reason": reading.finish_reason if success else None,
        "tool_calls_valid": all_valid(verdicts) if reading.outcome == "tool_calls" else None,
        "last_run_at": datetime.now(UTC).isoformat(),
        "duration_ms": round(last.duration * 1000),
        "hash": prepared.digest,
        "prompt_tokens": usage.get("prompt_tokens"),
        "completion_tokens": usage.get("completion_tokens"),
        "total_tokens": usage.get("total_tokens"),
        "ttft_ms": milliseconds(last.first_token) if success else None,
        "tps": _rate(reading.answer.hidden_tokens, usage.get("completion_tokens"), last) if success else None,
        "case": case.identity,
        "trial": trial,
        "config": config,
        "vendor": target.name,
        "model": target.settings.model,
        "outcome": reading.outcome,
        "problem": problem,
        "notes": list(reading.notes),
        "calls": verdicts,
        "attempts": [attempt.as_json() for attempt in attempts],
        "queued_ms": milliseconds(queued),
        "loop_lag_ms": milliseconds(lag),
        "served": {name: value if isinstance(value, str) else None for name, value in served},
    }
    if isinstance(suite := case.body.get("suite"), dict):
        row["suite"] = suite
    found = examine(row, reading.excerpts, _counter(target))
    # The kinds of problems and the reasons of invalid calls have fields of their own already.
    row["notes"] = [one.kind for one in found if one.kind not in PROTOCOL_ERRORS and one.kind not in CALL_REASONS]
    if any(one.kind in UNRELIABLE_COUNT for one in found):
        row["tps"] = None
    row["findings"] = [one.as_json() for one in found]
    return row


def _with_raw_calls(target: Target, reading: Reading) -> Reading:
    """Parse the calls from the text of a raw completion and set the finish reason accordingly."""
    response = reading.response
    if not target.settings.raw or reading.outcome not in ANSWERED or response is None:
        return reading
    choice, message = first_choice(response), first_message(response)
    text = message.get("content") or choice.get("text")
    try:
        rest, calls = target.adapter.calls_of(text if isinstance(text, str) else "")
    except Exception:  # noqa: BLE001 - a third party's driver must not cost an answer that was paid for
        return replace(reading, notes=(*reading.notes, "raw_calls_unreadable"))
    if not calls:
        return reading
    message = {"role": "assistant", **message, "content": rest, "tool_calls": calls}
    changed = {**choice, "message": message, "finish_reason": "tool_calls"}
    whole = {**response, "choices": [changed if other is choice else other for other in response["choices"]]}
    return replace(reading, outcome="tool_calls", finish_reason="tool_calls", response=whole)


def _counter(target: Target) -> Callable[[str], int | None] | None:
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
    seconds, shown = attempt.duration - attempt.first_token, tokens - hidden
    return round(shown / seconds, 3) if seconds >= SHORTEST_DECODE and shown > 0 else None


def trial_result(label: str, row: Row, redaction: RowRedaction, *, attempt: int, session: str) -> TrialResult:
    """Return the trial of a row, without secrets.

    The session names the invocation of the command. The attempt of the latest session counts.
    """
    verified: dict[str, Any] = {key: value for key, value in row.items() if key not in ("request", "response")}
    parts = [dump_json(part) for part in (row["request"], row["response"], verified)]
    request, response, rest = redaction.lines(*parts)
    verified = verified if rest is parts[2] else parse_json(rest)
    *earlier, last = attempts = verified["attempts"]
    opened = datetime.fromisoformat(attempts[0]["started_at"])
    duration, first_token = last["duration_ms"] / 1000, last["ttft_ms"]
    waiting = (sum(each["waited_ms"] + each["duration_ms"] for each in earlier) + last["waited_ms"]) / 1000
    problem, failure = verified["problem"], None
    error = None if problem is None else f"{problem['kind']}: {problem['message']}"
    if error is not None and row["outcome"] not in ANSWERED:
        # An answer that breaks the protocol is the model's failure, all else the endpoint's.
        failure = Failure(kind="model" if row["outcome"] == "protocol_error" else "endpoint", message=error)
    usage = {"prompt_tokens": row["prompt_tokens"], "completion_tokens": row["completion_tokens"]}
    wall = waiting + duration
    call = {
        "request": request.decode(),
        "response": response.decode(),
        "request_bytes": len(request),
        "response_bytes": len(response),
        "started": waiting,
        "duration": duration,
        "first_token": None if first_token is None else first_token / 1000,
        "status": last["status"] or 0,
        "usage": None if None in usage.values() else usage,
        "finish_reason": verified["finish_reason"],
        "error": error,
        "cause": None if problem is None else "endpoint",
        "attempts": tuple(_earlier(attempts)),
        "waited": waiting,
    }
    key = {"framework": label, "query_id": row["data_index"], "repeat": row["trial"]}
    timing = {"wall": wall, "model": duration, "tool": 0.0, "framework": 0.0, "waiting": waiting}
    outcome = {"started_at": opened, "wall_time": wall, "failure": failure}
    wire = {"trial": "", "opened_at": opened, "model_calls": (call,)}
    found = {"trial": "", "key": key, "seed": 0, "outcome": outcome, "wire": wire, "timing": timing}
    found |= {"selected_tools": (), "attempt": attempt, "adapter_digest": session, "verified": verified}
    # Validated in one go, which takes half of the time of making the records one by one.
    return TrialResult.model_validate(found)


def _earlier(attempts: Sequence[AttemptFields]) -> Iterator[Attempt]:
    """Yield the attempts before the last, each with the wait after it."""
    started = 0.0
    for attempt, following in pairwise(attempts):
        started += attempt["waited_ms"] / 1000
        duration, error = attempt["duration_ms"] / 1000, (attempt["problem"] or {}).get("kind", "")
        status, wait = attempt["status"] or 0, following["waited_ms"] / 1000
        yield Attempt(started=started, duration=duration, error=error, status=status, wait=wait)
        started += duration


def row_lines(run: StoredRun, label: str) -> Iterator[bytes]:
    """Yield the lines of an endpoint's results file, in the order of the test set."""
    return (row_line(case) for _, case in verified_cases(run, label))


def write_rows(run: StoredRun, label: str, path: Path, written: Callable[[str], None]) -> Answers | None:
    """Replace a results file, atomically, with an endpoint's rows, and return them for a summary.

    ``written`` is given the file's SHA-256 before the replacement. Return None if there are no rows.
    """
    digest = hashlib.sha256()

    def placed_rows(file: BinaryIO) -> Iterator[PlacedRow]:
        offset = 0
        for number, (_, case) in enumerate(verified_cases(run, label), 1):
            line = row_line(case)
            file.write(line)
            digest.update(line)
            # Only suites look at requests, which are most of what there is to parse.
            request = parse_json_fast(case.request.encode()) if "suite" in case.verified else {}
            bodies = {"request": request, "response": parse_json_fast(case.response.encode())}
            yield PlacedRow(number, offset, bodies | case.verified)
            offset += len(line)

    with replacing(path) as file:
        tables = read_rows(FileRows(path), placed_rows(file), compared=False)
        written(digest.hexdigest())
    return next(iter(tables), None)


class RowRedaction:
    """Replaces secrets in JSON texts.

    A secret is found in any escaping or encoding, and truncated: its prefix counts at the end of a text. Secrets with
    fewer than 8 characters are ignored, because they occur in ordinary text by chance.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        secrets = tuple(secrets)
        self._redaction = redaction_of(secrets)
        long = [secret for secret in secrets if len(secret) >= MIN_SECRET]
        spellings = {spelling.encode() for secret in long for spelling in _spellings(secret)}
        self._spellings = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))

    def lines(self, *lines: bytes) -> list[bytes]:
        """Return JSON texts without secrets; the same objects if they hold none."""
        found = list(lines)
        if any(self._redaction.finds(line.decode("utf-8", "replace")) for line in lines):
            found = [dump_json(self._redaction.value(parse_json(line))) for line in lines]
        for spelling in self._spellings:
            found = [_without_prefixes(line, spelling) if spelling[:MIN_SECRET] in line else line for line in found]
        return found


def _spellings(secret: str) -> Iterator[str]:
    """Yield the ways to write a secret inside a JSON string."""
    for spelling in (secret, secret.replace("/", "\\/"), quote(secret, safe=""), json.dumps(secret)[1:-1]):
        yield json.dumps(spelling)[1:-1]


def _without_prefixes(line: bytes, spelling: bytes) -> bytes:
    """Remove truncated copies of a secret."""
    head, parts, done = spelling[:MIN_SECRET], list[bytes](), 0
    at = line.find(head)
    while at >= 0:
        common = takewhile(lambda pair: pair[0] == pair[1], zip(line[at:], spelling, strict=False))
        end = at + sum(1 for _ in common)
        # A quotation mark after a backslash does not end the string.
        if line.startswith(ENDS, end) and not line.endswith(b"\\", at, end):
            parts += [line[done:at], REDACTED.encode()]
            done = end
        at = line.find(head, end)
    return b"".join((*parts, line[done:])) if parts else line
