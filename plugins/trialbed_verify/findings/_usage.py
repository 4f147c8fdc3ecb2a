"""The token counts of an answer."""

from __future__ import annotations

from collections.abc import Iterator

from trialbed_verify.findings._answers import Answer
from trialbed_verify.findings._findings import Finding, finding


def examine_usage(answer: Answer) -> Iterator[Finding]:
    """Whether the counts agree with one another."""
    usage = answer.usage
    prompt, completion, total = (usage.get(f"{what}_tokens") for what in ("prompt", "completion", "total"))
    if prompt is not None and completion is not None and total is not None and total != prompt + completion:
        yield finding(
            "total_not_sum", f"{total} tokens in total, but {prompt} + {completion} = {prompt + completion}", usage
        )
