"""Reads result rows of this tool and of others, and keeps what comparisons need."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from typing import Any, Literal, NamedTuple, TypeVar

import orjson

from trialbed.errors import DataError
from trialbed_verify.call_schemas import call_verdicts
from trialbed_verify.rows import Body, answer_in, object_in, sent_request, text_in, usage_of
from trialbed_verify.vendor_rows import VendorRows

Measure = Callable[[Body, VendorRows, Any], Any]
Decision = Literal["tool_calls", "stop", "other", "none"]

ANSWERS: tuple[Decision, ...] = ("tool_calls", "stop", "other")
_DECISIONS = frozenset(ANSWERS)

T = TypeVar("T")

UNKNOWN = "unknown_failure"
"""The outcome of a failed row whose tool does not say how it failed."""

LARGEST = 1e300
"""Larger values cannot be added up; the comparison excludes ``nan`` too."""

NO_FINISH_REASON = "protocol_error"
"""The outcome of a row of another tool that counts as a success without a finish reason: an incomplete answer."""


CONTENT = (
    "messages",
    "prompt",
    "suffix",
    "tools",
    "functions",
    "tool_choice",
    "function_call",
    "response_format",
)
"""The content of a request. All other keys are settings, or the vendor's."""

OF_THE_VENDOR = frozenset(("model", "stream", "stream_options", "provider", "user", "metadata"))
"""Keys that may differ between vendors of one model."""


@dataclass(frozen=True, slots=True)
class CallRow:
    """The verdict on a tool call, with the reasons; ``valid`` is None if the declared schema cannot be used."""

    valid: bool | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResultRow:
    """The fields of a result row that comparisons use; unknown figures are None.

    Attributes:
        line: 1-based line in its file.
        data_index: 1-based line in the test set.
        case: the identity of the test set's line, None if the row has none.
        trial: 0-based number among the repeats of the case.
        config: digest of the configuration, None if the row has none.
        vendor, model: as named by the row, or None.
        asked_model: the model of the request.
        requested: digests of the request's content, and its settings.
        outcome: how the case ended; for a row of another tool it follows from the status and finish reason.
        problem: the kind of a failure, or None.
        success: whether ``status`` is ``success``.
        valid: whether all tool calls fit their schemas, None if unknown.
        calls: the verdict on each call, None if the row has none.
        served: model, fingerprint and provider that the answer names.
        measured: the result of the reader's ``measure``; None if it has none.
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
    measured: Any = None

    @property
    def decision(self) -> Decision:
        """The vendor's decision: to call tools, to stop, another ending, or no valid answer."""
        return self.outcome if self.outcome in _DECISIONS else "none"

    @property
    def key(self) -> tuple[object, ...]:
        """Identifies a case and trial in the file; the last row of a key counts."""
        if self.case is not None:
            return self.config, self.case, self.trial
        return (self.line,) if self.data_index is None else (self.data_index, self.trial)


class RowReader:
    """The rows of vendors, one at a time and in order, repeats of a key included.

    Args:
        measure: makes further figures for a comparison of a row, whose rows it is of, and its place there.

    Attributes:
        torn: the number of a torn last line, as a killed run leaves it, once iteration has skipped it.

    Raises:
        DataError: (on iteration) the rows cannot be read, or one is not a result row.
    """

    def __init__(self, source: VendorRows, measure: Measure | None = None) -> None:
        self.source = source
        self.measure = measure
        self.torn: int | None = None

    def __iter__(self) -> Iterator[ResultRow]:
        for number, place, row in self.source:
            if row is None:
                self.torn = number
                continue
            try:
                yield _parse_row(number, row, self.measure(row, self.source, place) if self.measure else None)
            except ValueError as error:
                raise DataError(f"{self.source}, line {number}: {error}") from error


def _parse_row(number: int, row: Body, measured: Any) -> ResultRow:
    success, finish_reason = row["status"] == "success", text_in(row, "finish_reason")
    response = object_in(row, "response")
    outcome, problem = _outcome(row, response, success, finish_reason)
    usage = usage_of(response)
    valid, calls = _verdicts(row, response)
    return ResultRow(
        line=number,
        data_index=_whole(row, "data_index"),
        case=text_in(row, "case"),
        trial=_whole(row, "trial") or 0,
        config=text_in(row, "config"),
        vendor=text_in(row, "vendor"),
        model=text_in(row, "model"),
        asked_model=text_in(object_in(row, "request"), "model"),
        requested=requested(sent_request(row)),
        outcome=outcome,
        problem=problem,
        success=success,
        finish_reason=finish_reason,
        valid=valid,
        calls=calls,
        completion_tokens=_figure(row, "completion_tokens") or _count(usage, "completion_tokens"),
        total_tokens=_figure(row, "total_tokens") or _total(usage),
        ttft_ms=_figure(row, "ttft_ms"),
        tps=_figure(row, "tps"),
        # In rows of other tools it includes the wait for a free slot and every retry.
        duration_ms=_own_duration(row) if "outcome" in row else None,
        served=_served_by(row, response),
        measured=measured,
    )


def _outcome(row: Body, response: Body, success: bool, finish_reason: str | None) -> tuple[str, str | None]:
    outcome = text_in(row, "outcome")
    if outcome is not None:
        return outcome, text_in(object_in(row, "problem"), "kind")
    if not success:
        return UNKNOWN, text_in(response, "error_type") or UNKNOWN
    if finish_reason is None:
        return NO_FINISH_REASON, "no_finish_reason"
    return (finish_reason if finish_reason in ("tool_calls", "stop") else "other"), None


def _verdicts(row: Body, response: dict[str, Any]) -> tuple[bool | None, tuple[CallRow, ...] | None]:
    """Return whether all calls fit, and the verdict on each: as the row has them, else checked against its tools."""
    valid, calls = _truth(row, "tool_calls_valid"), _calls(row)
    if calls is not None or valid is not None:
        return valid, calls
    if "tool_calls_valid" in row:
        # K2-style tools write null where calls are announced and there are none.
        return (False if row.get("finish_reason") == "tool_calls" else None), None
    made = answer_in(response)[1].get("tool_calls")
    if not isinstance(made, list) or not made:
        return None, None
    found = call_verdicts(made, object_in(row, "request").get("tools"))
    checked = tuple(CallRow(one.valid, tuple(intern(reason) for reason in one.reasons)) for one in found)
    verdicts = {one.valid for one in checked}
    return (False if False in verdicts else None if None in verdicts else True), _share(checked)


def _calls(row: Body) -> tuple[CallRow, ...] | None:
    calls = row.get("calls")
    if not isinstance(calls, list):
        return None
    return _share(tuple(_call(call) for call in calls))


def _call(call: Any) -> CallRow:
    if not isinstance(call, dict):
        raise ValueError("calls: a call is not an object")  # noqa: TRY004 - the caller names file and line
    reasons = call.get("reasons") or ()
    if not isinstance(reasons, list | tuple):
        raise ValueError("calls: the reasons are not a list")  # noqa: TRY004 - as above
    return CallRow(_truth(call, "valid"), tuple(intern(str(reason)) for reason in reasons))


def _served_by(row: Body, response: Body) -> tuple[str | None, str | None, str | None]:
    source = object_in(row, "served") or response
    return _share((text_in(source, "model"), text_in(source, "system_fingerprint"), text_in(source, "provider")))


def _total(usage: Body) -> float | None:
    parts = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    return _count(usage, "total_tokens") or (None if None in parts else sum(part or 0 for part in parts))


def _own_duration(row: Body) -> float | None:
    """Read the duration of a row of ours: 0 is a duration of less than half a millisecond."""
    return 0.0 if row.get("duration_ms") == 0 and row.get("status") == "success" else _figure(row, "duration_ms")


def _count(usage: Body, key: str) -> float | None:
    """Return a count as the vendor sent it; None if it is not a number, as no vendor may escape a verdict by it."""
    try:
        return _figure(usage, key)
    except ValueError:
        return None


def _figure(source: Body, key: str) -> float | None:
    """A figure that cannot be 0 in an answer: other tools write 0 for an unknown value."""
    value = source.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -LARGEST < value < LARGEST:
        raise ValueError(f"{key}: {value!r} is not a number")
    return float(value) if value > 0 else None


def _whole(source: Body, key: str) -> int | None:
    value = source.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise ValueError(f"{key}: {value!r} is not a whole number")
    return value


def _truth(source: Body, key: str) -> bool | None:
    value = source.get(key)
    return value if isinstance(value, bool) else None


class Requested(NamedTuple):
    """A request, reduced to the parts that must agree between vendors.

    Attributes:
        content: (part, digest) of each part of the content, in a fixed order.
        settings: temperature, limits and everything else that changes answers, as canonical JSON.
    """

    content: tuple[tuple[str, str], ...]
    settings: str


def requested(body: Mapping[str, Any]) -> Requested:
    """Reduce a request body; an absent part equals one that is null."""
    content = tuple((part, _digest(body[part])) for part in CONTENT if body.get(part) is not None)
    rest = {
        key: value
        for key, value in body.items()
        if value is not None and key not in OF_THE_VENDOR and key not in CONTENT
    }
    return _share(Requested(content, intern(_canonical(rest).decode())))


def _digest(value: Any) -> str:
    return intern(hashlib.blake2b(_canonical(value), digest_size=16).hexdigest())


def _canonical(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _share(value: T) -> T:
    """The first of equal values: the trials of a case, and most answers, have theirs in common."""
    first: T = _first(value)
    return first


@lru_cache(maxsize=1 << 16)
def _first(value: Any) -> Any:
    return value
