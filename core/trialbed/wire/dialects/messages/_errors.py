"""Errors of messages, with a status of failure or of success."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trialbed.wire._exchange import Document

OF_STATUS = {
    "400": "invalid_request_error",
    "401": "authentication_error",
    "402": "billing_error",
    "403": "permission_error",
    "404": "not_found_error",
    "409": "conflict_error",
    "413": "request_too_large",
    "429": "rate_limit_error",
    "500": "api_error",
    "502": "api_error",
    "503": "overloaded_error",
    "504": "timeout_error",
    "529": "overloaded_error",
}
"""Status -> the type of its error."""

OF_CODE = {"model_not_found": "not_found_error"}

KINDS = frozenset(OF_STATUS.values())


def write_error(message: str, kind: str, *, code: str | None = None) -> Document:
    """Return an error as Anthropic's clients read it.

    Args:
        kind: its type; one of another dialect becomes that of its status.
        code: the status, or a code of its own, which stands in the details.
    """
    status = code is not None and code.isdecimal()
    found = OF_CODE.get(code or "") or (kind if kind in KINDS and not status else OF_STATUS.get(code or "", ""))
    error: Document = {"type": found or "api_error", "message": message}
    if code is not None and not status:
        error["details"] = {"error_code": code}
    return {"type": "error", "error": error, "request_id": None}


def reports_error(document: Mapping[str, Any]) -> bool:
    """Return whether a document is an error."""
    return document.get("type") == "error" or bool(document.get("error"))
