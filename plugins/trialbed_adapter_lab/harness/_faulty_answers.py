"""Answers of a model that no framework should get."""

from __future__ import annotations

from collections.abc import Mapping

from trialbed_adapter_lab.harness._records import ObservedRequest
from trialbed_scripted import Response

DETAILED_USAGE = {
    "prompt_tokens": 40,
    "completion_tokens": 20,
    "total_tokens": 60,
    "prompt_tokens_details": {"cached_tokens": 32, "audio_tokens": 2},
    "completion_tokens_details": {"reasoning_tokens": 16, "audio_tokens": 1},
}
"""The tokens that an answer reports, with the parts that are in the sums already."""

WITHOUT_MESSAGE: Mapping[str, Mapping[str, object]] = {
    "chat_completions": {"object": "chat.completion", "choices": []},
    "messages": {"type": "message", "role": "assistant", "stop_reason": "end_turn"},
    "responses": {"object": "response", "status": "completed", "created_at": 0},
}
"""Dialect -> an answer without the part that the model writes."""


def without_message(request: ObservedRequest) -> Response:
    """Return an answer without the part that the model writes."""
    return Response.document({"id": "faulty", "created": 0, "model": "faulty", **WITHOUT_MESSAGE[request.dialect]})
