"""The tokens that scripted models report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from trialbed.records import Usage

BYTES_PER_TOKEN = 4


def estimated_usage(request: Mapping[str, Any], message: Mapping[str, Any]) -> Usage:
    """A deterministic estimate: a token per 4 bytes, rounded up, of compact UTF-8 JSON.

    The prompt is ``{"messages": …, "tools": …}`` of the request, the completion is the message given back, so
    that the way a client writes its JSON does not matter.
    """
    prompt = {"messages": request.get("messages", []), "tools": request.get("tools", [])}
    return Usage(prompt_tokens=_tokens(prompt), completion_tokens=_tokens(message))


def _tokens(value: Any) -> int:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)
