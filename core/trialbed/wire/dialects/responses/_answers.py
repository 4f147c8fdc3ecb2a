"""Responses as JSON documents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from trialbed.wire._exchange import Document, ModelAnswer, ModelMessage
from trialbed.wire._readings import Problem, read_document
from trialbed.wire.dialects._fields import counts_of, mapping_of, objects_of, text_of, whole_number
from trialbed.wire.dialects.responses._items import read_said

REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}
"""Reason of an incomplete response -> its canonical name."""


def read_answer(document: Document | None) -> ModelAnswer:
    """Read the answer in a response; without output its ``source`` is None."""
    found = document or {}
    output = found.get("output")
    said = read_said(objects_of(output))
    usage = read_usage(found.get("usage"))
    thought = (usage or {}).get("reasoning_tokens", 0)
    return ModelAnswer.of(
        said,
        model=text_of(found.get("model")),
        id=text_of(found.get("id")).removeprefix("resp_"),
        created=whole_number(found.get("created_at")) or 0,
        finish_reason=_reason(found, said),
        usage=usage,
        hidden_tokens=0 if said.reasoning else thought,
        source=said.source if isinstance(output, list) else None,
    )


def read_usage(usage: Any) -> dict[str, int] | None:
    """Return the tokens of a response by their canonical names."""
    found = mapping_of(usage)
    told = {
        "prompt_tokens": found.get("input_tokens"),
        "completion_tokens": found.get("output_tokens"),
        "total_tokens": found.get("total_tokens"),
        "cached_tokens": mapping_of(found.get("input_tokens_details")).get("cached_tokens"),
        "reasoning_tokens": mapping_of(found.get("output_tokens_details")).get("reasoning_tokens"),
    }
    return counts_of(told) or None


def problem_of(document: Document) -> Problem | None:
    """Return why a response is not an answer, or None if it is one."""
    if document.get("error") or document.get("status") == "failed":
        code = mapping_of(document.get("error")).get("code")
        return Problem("error_body", "the response reports an error", code)
    if not isinstance(document.get("output"), list):
        return Problem("null_message", "the response has no list of items as its output")
    if document.get("status") not in ("completed", "incomplete"):
        return Problem("no_finish_reason", f"the status of the response is {str(document.get('status'))[:100]!r}")
    return None


def _reason(document: Mapping[str, Any], said: ModelMessage) -> str | None:
    status = document.get("status")
    if status == "completed":
        return "tool_calls" if said.calls else "stop"
    if status != "incomplete":
        return None
    reason = text_of(mapping_of(document.get("incomplete_details")).get("reason"))
    return REASONS.get(reason, reason) or "length"


read_body = partial(read_document, read_answer, problem_of)
