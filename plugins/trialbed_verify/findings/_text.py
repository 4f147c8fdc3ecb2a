"""The text of an answer."""

from __future__ import annotations

from collections.abc import Iterator

from trialbed_verify.findings._answers import Answer
from trialbed_verify.findings._findings import Finding, finding


def examine_text(answer: Answer) -> Iterator[Finding]:
    """Whether there is an answer at all."""
    if not (answer.content.strip() or answer.calls or answer.message.get("refusal")) and answer.reason == "stop":
        yield finding("empty_answer", "the answer has no text, no calls and no refusal", answer.message)
