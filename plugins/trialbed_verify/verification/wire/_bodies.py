"""An answer that was not streamed."""

from __future__ import annotations

from typing import Any

from trialbed_verify.verification.wire._outcomes import Problem, Reading, failed, outcome_of
from trialbed_verify.verification.wire.json_text import parsed

SHOWN = 300


def read_body(body: bytes, content_type: str) -> Reading:
    """What a body of HTTP 2xx amounts to; the completion is kept as it came, unknown fields too."""
    if is_html(body, content_type):
        return failed("html", f"the body is HTML: {_shown(body)}")
    if not body.strip():
        return failed("empty_body", "the body is empty")
    try:
        document = parsed(body)
    except ValueError as error:
        return failed("malformed_body", f"the body is not JSON ({error}): {_shown(body)}")
    if not isinstance(document, dict):
        return failed("malformed_body", f"the body is no JSON object: {_shown(body)}")
    return _read_completion(document, body)


def is_html(body: bytes, content_type: str) -> bool:
    """Whether a body is a web page, whatever it was asked to be."""
    return content_type.startswith("text/html") or body.lstrip()[:1] == b"<"


def first_choice(response: dict[str, Any] | None) -> dict[str, Any]:
    """The choice that counts; empty if there is none, whatever stands in its place."""
    choices = (response or {}).get("choices")
    objects = [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    return next((choice for choice in objects if choice.get("index", 0) == 0), objects[0] if objects else {})


def first_message(response: dict[str, Any] | None) -> dict[str, Any]:
    """The message of the choice that counts; empty if there is none."""
    message = first_choice(response).get("message")
    return message if isinstance(message, dict) else {}


def _read_completion(document: dict[str, Any], body: bytes) -> Reading:
    choice = first_choice(document)
    if document.get("error") and not choice:
        return _broken("error_body", f"the body reports an error: {_shown(body)}", document)
    if not choice:
        return _broken("no_choices", f"the completion has no choice with anything in it: {_shown(body)}", document)
    reason = choice.get("finish_reason")
    if not isinstance(choice.get("message"), dict) and not isinstance(choice.get("text"), str):
        return _broken("null_message", f"the first choice has no message: {_shown(body)}", document, reason)
    if not isinstance(reason, str) or not reason:
        return _broken("no_finish_reason", f"the first choice has no finish reason: {_shown(body)}", document)
    return Reading(outcome_of(reason), reason, document)


def _broken(kind: str, message: str, document: dict[str, Any], reason: Any = None) -> Reading:
    known = reason if isinstance(reason, str) else None
    return Reading("protocol_error", known, document, Problem(kind, message))


def _shown(body: bytes) -> str:
    return body[:SHOWN].decode("utf-8", "replace")
