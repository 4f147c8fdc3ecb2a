"""Distinguishes an Api's answer from a failure, by its structure and by the statuses in it.

Words in an answer decide nothing: a price of 500, or a sentence about a parameter, is an answer. What counts is where
something stands: an error in its own field, a status among the fields of an envelope, the gateway's own message alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

STATUS_FIELDS = frozenset({"status", "status_code", "statuscode", "code", "http_status", "httpstatus"})
ERROR_FIELDS = frozenset({"error", "errors", "error_message", "errormessage", "exception"})
ENVELOPE = (
    STATUS_FIELDS
    | ERROR_FIELDS
    | frozenset({"message", "messages", "msg", "detail", "details", "info", "success", "ok", "type", "title"})
    | frozenset({"timestamp", "path", "request_id", "requestid", "documentation_url"})
)
"""Fields that say how a request went. A response with any other field has content, and is an answer."""

GATEWAY_MESSAGE = re.compile(
    r"you are not subscribed to this api|invalid api key|blocked user|too many requests|api doesn't exist"
    r"|you have exceeded the \S+( \S+)? (quota|limit|rate)|the api is unreachable|endpoint .{0,300} does not exist",
    re.IGNORECASE | re.DOTALL,
)
"""The beginnings of the messages of RapidAPI's gateway."""

STATUS_TEXT = re.compile(r"[^.\n]{0,120}\bstatus_code=[45]\d\d\.?", re.IGNORECASE)
"""A text that is nothing but the proxy's report of a status."""


def refusal(answer: Any) -> str:
    """The reason why the body of a response with status 200 is not an answer of an Api; empty if it is one.

    Args:
        answer: the parsed body.
    """
    if not isinstance(answer, Mapping):
        return f"the answer is not an object but of type {type(answer).__name__}"
    missing = [name for name in ("error", "response") if name not in answer]
    if missing:
        return f"the answer has no {' and no '.join(missing)}"
    if answer["error"] not in ("", None):
        return f"error: {str(answer['error'])[:200]}"
    return _response_refusal(answer["response"])


def _response_refusal(response: Any) -> str:
    if response is None or response == "":
        return "the response is empty"
    if isinstance(response, str):
        text = response.strip()
        failed = not text or STATUS_TEXT.fullmatch(text) or _is_gateway_message(text)
        return f"response: {text[:200] or 'empty'}" if failed else ""
    if isinstance(response, Mapping):
        return _envelope_refusal({str(name).lower(): value for name, value in response.items()})
    return ""


def _envelope_refusal(fields: Mapping[str, Any]) -> str:
    """The reason why a response that consists of an envelope alone is a failure."""
    if not fields or not ENVELOPE.issuperset(fields):
        return ""
    statuses = [value for name, value in fields.items() if name in STATUS_FIELDS and _is_failure(value)]
    if statuses:
        return f"response: status {statuses[0]}"
    errors = [name for name in ERROR_FIELDS if fields.get(name)]
    if errors:
        return f"response: {str(fields[errors[0]])[:200]}"
    if fields.get("success") is False or fields.get("ok") is False:
        return "response: not successful"
    texts = [value for name in ("message", "messages", "msg") if isinstance(value := fields.get(name), str)]
    return f"response: {texts[0][:200]}" if texts and _is_gateway_message(texts[0]) else ""


def _is_failure(value: Any) -> bool:
    """Return whether a field's value is an HTTP status of a failure."""
    if isinstance(value, str) and re.fullmatch(r"[45]\d\d", value):
        return True
    return isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599


def _is_gateway_message(text: str) -> bool:
    return len(text) <= 600 and GATEWAY_MESSAGE.match(text.strip()) is not None
