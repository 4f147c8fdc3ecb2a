"""Examines the model that an answer names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trialbed_verify.findings._answers import AnsweredRow
from trialbed_verify.findings._findings import Finding, finding

SNAPSHOT = re.compile(r"(?:[-@:](?:\d{3,8}|\d\d-\d{2,4}|v\d[\d.]*(?::\d+)?|latest|free|preview)){1,6}")
"""The snapshot of a model, after its name; a single digit names another model."""


def examine_model(answer: AnsweredRow) -> Iterator[Finding]:
    """Yield a finding if the answer names another model than the request."""
    asked, served = answer.request.get("model"), answer.response.get("model")
    if isinstance(asked, str) and isinstance(served, str) and asked and served and not same_model(asked, served):
        yield finding("other_model", f"{asked} was asked for, and the answer names {served}", {"model": served})


def same_model(asked: str, served: str) -> bool:
    """Return whether two names can stand for one model: publisher, snapshot and case may differ."""
    if asked == served:
        return True
    one, other = (name.rpartition("/")[2].casefold() for name in (asked, served))
    short, long = sorted((one, other), key=len)
    return long == short or (long.startswith(short) and SNAPSHOT.fullmatch(long, len(short)) is not None)
