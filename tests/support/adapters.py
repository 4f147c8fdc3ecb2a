"""What an adapter's own tests read from a trial of the conformance kit's harness."""

from __future__ import annotations

import json

from trialbed_adapter_lab import TrialRecord
from trialbed_scripted import Response


def said(record: TrialRecord) -> str:
    """The answer, or the type of the exception that ended the run."""
    return failure(record).partition(":")[0] if record.answer is None else record.answer.final_answer


def failure(record: TrialRecord) -> str:
    """The message of the exception that ended the run."""
    assert record.failure is not None, record.answer
    return record.failure.message


def results(record: TrialRecord) -> list[str]:
    """What the model was told of its calls in the last request."""
    return [text for _, text in record.requests[-1].results]


def refusal(status: int, message: str, code: str | None = None) -> Response:
    """A refusal of the model's endpoint in OpenAI's form."""
    error = {"message": message, "type": "invalid_request_error", "code": code, "param": None}
    return Response.text(json.dumps({"error": error}), status=status)
