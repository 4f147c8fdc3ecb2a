"""A row of a results file: one completed case."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from trialbed.wire import Outcome
from trialbed_verify.call_schemas import CallFields
from trialbed_verify.verification.wire import AttemptFields


class Row(TypedDict):
    """A completed case as results files have it: K2-style fields, then Agent Vendor Verifier's, then Trialbed's own.

    Figures that are not known are None, and so are those of a failure. The fields stand in this order.

    Attributes:
        request: as sent, without ``extra_body``.
        response: the completion; of a failure its kind, its message and what had come.
        hash: MD5 of the request as the K2-style tools compute it.
        case: the identity of the test set's line.
        config: digest of the target's configuration.
        calls: the verdict on each call.
        served: id, model, fingerprint and provider that the answer names.
        suite: the expectations of the suite that the case is of.
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
    outcome: Outcome
    problem: dict[str, str] | None
    notes: list[str]
    calls: list[CallFields]
    attempts: list[AttemptFields]
    queued_ms: float | None
    loop_lag_ms: float | None
    served: dict[str, str | None]
    suite: NotRequired[dict[str, Any]]
    findings: NotRequired[list[dict[str, str]]]
