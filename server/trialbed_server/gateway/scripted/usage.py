"""The tokens that scripted models report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trialbed.estimates import estimated_tokens
from trialbed.records import Usage


def estimated_usage(request: Mapping[str, Any], message: Mapping[str, Any]) -> Usage:
    """An estimate; the prompt is ``{"messages": …, "tools": …}`` of the request, the completion the answer."""
    prompt = {"messages": request.get("messages", []), "tools": request.get("tools", [])}
    return Usage(prompt_tokens=estimated_tokens(prompt), completion_tokens=estimated_tokens(message))
