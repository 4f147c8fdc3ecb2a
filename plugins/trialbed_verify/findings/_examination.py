"""Examines rows of results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trialbed_verify.findings._answers import Answer
from trialbed_verify.findings._calls import examine_calls
from trialbed_verify.findings._findings import Finding, finding, written
from trialbed_verify.findings._kinds import KINDS
from trialbed_verify.findings._model import examine_model
from trialbed_verify.findings._text import examine_text
from trialbed_verify.findings._usage import examine_usage

Row = Mapping[str, Any]

EXAMINERS: tuple[Callable[[Answer], Iterator[Finding]], ...] = (
    examine_calls,
    examine_text,
    examine_usage,
    examine_model,
)


def findings(row: Row) -> tuple[Finding, ...]:
    """The findings of a row, as it has them, else examined anew.

    Args:
        row: of a results file, of any tool that writes K2-style rows.
    """
    stored = row.get("findings")
    if not isinstance(stored, list):
        return examine(row)
    return tuple(found for document in stored if (found := written(document)) is not None)


def examine(row: Row, excerpts: Mapping[str, str] | None = None) -> tuple[Finding, ...]:
    """Examine a row, whatever findings it has already.

    Args:
        excerpts: kind -> the bytes in which the reader of the answer saw it, for what the row no longer shows.
    """
    answer = Answer(row)
    found = list(_noted(row, excerpts or {}))
    if answer.complete:
        for examiner in EXAMINERS:
            found += examiner(answer)
    seen: dict[tuple[str, str], Finding] = {}
    for one in found:
        # What the reader saw in the bytes comes first, and says it better.
        seen.setdefault((one.kind, "" if one.kind in (excerpts or {}) else one.evidence), one)
    return tuple(seen.values())


def _noted(row: Row, excerpts: Mapping[str, str]) -> Iterator[Finding]:
    for kind in row.get("notes") or ():
        if kind in KINDS:
            yield finding(kind, KINDS[kind].meaning, excerpts.get(kind, ""))
