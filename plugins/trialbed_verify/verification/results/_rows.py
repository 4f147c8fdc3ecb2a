"""Reading result rows, ours or another tool's, and keeping only what is compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import Any, Literal

from trialbed.errors import DataError
from trialbed_verify.verification.results._requested import Requested, requested

Body = Mapping[str, Any]
Decision = Literal["tool_calls", "stop", "other", "none"]

ANSWERS: tuple[Decision, ...] = ("tool_calls", "stop", "other")
_DECISIONS = frozenset(ANSWERS)

UNKNOWN = "unknown_failure"
"""The outcome of a failed row of a tool that does not say how it failed."""

LARGEST = 1e300
"""Beyond it nothing can be added up; ``nan`` is not below it either."""

NO_FINISH_REASON = "protocol_error"
"""The outcome of a row that counts as a success elsewhere and has no finish reason: no whole answer."""


@dataclass(frozen=True, slots=True)
class CallRow:
    """A tool call's verdict: ``valid`` is None where the declared schema cannot be used; why it is not valid."""

    valid: bool | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResultRow:
    """What is compared of a result row; figures that are not known are None.

    Attributes:
        line: 1-based line in its file.
        data_index: 1-based line in the test set.
        case: the identity of the test set's line, None where the row has none.
        trial: 0-based number among the repeats of the case.
        config: digest of the configuration that asked, None where the row has none.
        vendor, model: as the row names them, else None.
        asked_model: the model of the request.
        requested: what was asked: digests of the content, and the settings.
        outcome: how the case ended; of another tool's row, what follows from its status and finish reason.
        problem: the kind of a failure, None if there is none.
        success: whether ``status`` is ``success``.
        valid: whether all tool calls fit their schemas, None if that is not told.
        calls: the verdict on each call, None where the row has none.
        served: model, fingerprint and provider that the answer names.
    """

    line: int
    data_index: int | None
    case: str | None
    trial: int
    config: str | None
    vendor: str | None
    model: str | None
    asked_model: str | None
    requested: Requested
    outcome: str
    problem: str | None
    success: bool
    finish_reason: str | None
    valid: bool | None
    calls: tuple[CallRow, ...] | None
    completion_tokens: float | None
    total_tokens: float | None
    ttft_ms: float | None
    tps: float | None
    duration_ms: float | None
    served: tuple[str | None, str | None, str | None]

    @property
    def decision(self) -> Decision:
        """What the vendor did: called tools, stopped, ended otherwise, or gave no valid answer."""
        return self.outcome if self.outcome in _DECISIONS else "none"

    @property
    def key(self) -> tuple[object, ...]:
        """What a row is the only or the last one of, in its file."""
        if self.case is not None:
            return self.config, self.case, self.trial
        return (self.line,) if self.data_index is None else (self.data_index, self.trial)


class RowReader:
    """The rows of a results file, one at a time and in its order; repeats of a key are not left out.

    Attributes:
        torn: the number of a last line that is cut off, as a killed run leaves it, once it has been passed over.

    Raises:
        DataError: (on iteration) the file cannot be read, or a line holds no result row; names file and line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn: int | None = None

    def __iter__(self) -> Iterator[ResultRow]:
        try:
            with self.path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if line.strip() and (row := self._row(number, line)) is not None:
                        yield row
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read: {error.strerror}") from error

    def _row(self, number: int, line: bytes) -> ResultRow | None:
        where = f"{self.path}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            if not line.endswith(b"\n"):
                self.torn = number
                return None
            raise DataError(f"{where}: not JSON ({error}); a results file has one JSON object per line") from error
        if not isinstance(row, dict) or "status" not in row:
            raise DataError(f"{where}: no result row, for want of a status; give a file that bench verify wrote")
        try:
            return _parsed(number, row)
        except ValueError as error:
            raise DataError(f"{where}: {error}") from error


def _parsed(number: int, row: Body) -> ResultRow:
    success, finish_reason = row["status"] == "success", _text(row, "finish_reason")
    response = _object(row, "response")
    outcome, problem = _outcome(row, response, success, finish_reason)
    usage = _usage(response)
    return ResultRow(
        line=number,
        data_index=_whole(row, "data_index"),
        case=_text(row, "case"),
        trial=_whole(row, "trial") or 0,
        config=_text(row, "config"),
        vendor=_text(row, "vendor"),
        model=_text(row, "model"),
        asked_model=_text(_object(row, "request"), "model"),
        requested=requested({**_object(row, "request"), **_object(row, "extra_body")}),
        outcome=outcome,
        problem=problem,
        success=success,
        finish_reason=finish_reason,
        valid=_truth(row, "tool_calls_valid"),
        calls=_calls(row),
        completion_tokens=_figure(row, "completion_tokens") or _figure(usage, "completion_tokens"),
        total_tokens=_figure(row, "total_tokens") or _total(usage),
        ttft_ms=_figure(row, "ttft_ms"),
        tps=_figure(row, "tps"),
        # Of other tools it spans the wait for a free slot and every retry.
        duration_ms=_figure(row, "duration_ms") if "outcome" in row else None,
        served=_served(row, response),
    )


def _outcome(row: Body, response: Body, success: bool, finish_reason: str | None) -> tuple[str, str | None]:
    told = _text(row, "outcome")
    if told is not None:
        return told, _text(_object(row, "problem"), "kind")
    if not success:
        return UNKNOWN, _text(response, "error_type") or UNKNOWN
    if finish_reason is None:
        return NO_FINISH_REASON, "no_finish_reason"
    return (finish_reason if finish_reason in ("tool_calls", "stop") else "other"), None


def _calls(row: Body) -> tuple[CallRow, ...] | None:
    calls = row.get("calls")
    if not isinstance(calls, list):
        return None
    return tuple(_call(call) for call in calls)


def _call(call: Any) -> CallRow:
    if not isinstance(call, dict):
        raise ValueError("calls: a call is no object")  # noqa: TRY004 - the caller names file and line
    reasons = call.get("reasons") or ()
    if not isinstance(reasons, list | tuple):
        raise ValueError("calls: the reasons are no list")  # noqa: TRY004 - as above
    return CallRow(_truth(call, "valid"), tuple(intern(str(reason)) for reason in reasons))


def _served(row: Body, response: Body) -> tuple[str | None, str | None, str | None]:
    source = _object(row, "served") or response
    return _text(source, "model"), _text(source, "system_fingerprint"), _text(source, "provider")


def _usage(response: Body) -> Body:
    if isinstance(response.get("usage"), dict):
        return _object(response, "usage")
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return _object(first, "usage") if isinstance(first, dict) else {}


def _total(usage: Body) -> float | None:
    parts = _figure(usage, "prompt_tokens"), _figure(usage, "completion_tokens")
    return _figure(usage, "total_tokens") or (None if None in parts else sum(part or 0 for part in parts))


def _figure(source: Body, key: str) -> float | None:
    """A figure that no answer can have as 0: other tools write 0 for what they do not know."""
    value = source.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -LARGEST < value < LARGEST:
        raise ValueError(f"{key}: {value!r} is no number")
    return float(value) if value > 0 else None


def _whole(source: Body, key: str) -> int | None:
    value = source.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise ValueError(f"{key}: {value!r} is no whole number")
    return value


def _truth(source: Body, key: str) -> bool | None:
    value = source.get(key)
    return value if isinstance(value, bool) else None


def _text(source: Body, key: str) -> str | None:
    value = source.get(key)
    return intern(value) if isinstance(value, str) and value else None


def _object(source: Body, key: str) -> Body:
    value = source.get(key)
    return value if isinstance(value, dict) else {}
