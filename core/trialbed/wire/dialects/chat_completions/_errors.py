"""Errors, with a status of failure or of success."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trialbed.wire._exchange import Document

FAILED = "error"
"""The finish reason with which routers say that a provider failed."""


def write_error(message: str, kind: str, *, code: str | None = None) -> Document:
    """Return an error as OpenAI's clients read it.

    Args:
        kind: the error's ``type``, such as ``invalid_request_error``.
    """
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def reports_error(document: Mapping[str, Any]) -> bool:
    """Return whether a completion or chunk reports an error, beside its choices or in one of them."""
    # Some servers send an error as an object of its own, {"object": "error", "message": …}.
    if document.get("object") == FAILED or ("error" in document and _says(document["error"])):
        return True
    choices = document.get("choices")
    # A loop, as a generator for every chunk of every stream would show in the time.
    for choice in choices if isinstance(choices, list) else ():
        if not isinstance(choice, dict):
            continue
        if choice.get("finish_reason") == FAILED or ("error" in choice and _says(choice["error"])):
            return True
    return False


def _says(error: Any) -> bool:
    """Return whether an error says anything; some vendors send one with every answer, with nothing in it."""
    return any(error.values()) if isinstance(error, dict) else bool(error)
