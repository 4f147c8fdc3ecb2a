"""An answer that was not streamed."""

from __future__ import annotations

import json
from typing import Any

from trialbed.verification._outcomes import Problem, Reading, failed, outcome_of

SHOWN = 300


def read_body(body: bytes, content_type: str) -> Reading:
    """What a body of HTTP 2xx amounts to; the completion is kept as it came, unknown fields too."""
    if is_html(body, content_type):
        return failed("html", f"the body is HTML: {_shown(body)}")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        kind = "malformed_body" if body.strip() else "empty_body"
        return failed(kind, f"the body is not JSON ({error}): {_shown(body)}")
    if not isinstance(document, dict):
        return failed("malformed_body", f"the body is no JSON object: {_shown(body)}")
    return _read_completion(document, body)


def is_html(body: bytes, content_type: str) -> bool:
    """Whether a body is a web page, whatever it was asked to be."""
    return content_type.startswith("text/html") or body.lstrip()[:1] == b"<"


def _read_completion(document: dict[str, Any], body: bytes) -> Reading:
    choices = document.get("choices")
    if document.get("error") and not choices:
        return _broken("error_body", f"the body reports an error: {_shown(body)}", document)
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return _broken("no_choices", f"the completion has no choices: {_shown(body)}", document)
    first = _first(choices)
    reason = first.get("finish_reason")
    if not isinstance(first.get("message"), dict) and not isinstance(first.get("text"), str):
        return _broken("null_message", f"the first choice has no message: {_shown(body)}", document, reason)
    if not isinstance(reason, str) or not reason:
        return _broken("no_finish_reason", f"the first choice has no finish reason: {_shown(body)}", document)
    return Reading(outcome_of(reason), reason, document)


def _first(choices: list[Any]) -> dict[str, Any]:
    numbered = [choice for choice in choices if isinstance(choice, dict) and choice.get("index", 0) == 0]
    first: dict[str, Any] = numbered[0] if numbered else choices[0]
    return first


def _broken(kind: str, message: str, document: dict[str, Any], reason: Any = None) -> Reading:
    known = reason if isinstance(reason, str) else None
    return Reading("protocol_error", known, document, Problem(kind, message))


def _shown(body: bytes) -> str:
    return body[:SHOWN].decode("utf-8", "replace")
