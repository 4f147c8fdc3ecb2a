"""Examines rows of results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trialbed_verify.findings._answers import AnsweredRow, Count
from trialbed_verify.findings._constraints import examine_constraints
from trialbed_verify.findings._form import examine_calls, examine_form
from trialbed_verify.findings._kinds import KINDS, PROTOCOL_ERRORS, Finding, finding, stored_finding
from trialbed_verify.findings._schema import examine_schema
from trialbed_verify.findings._text import examine_text, failed_generation
from trialbed_verify.findings._usage import examine_usage

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


Row = Mapping[str, Any]

OF_CHATS = frozenset(("delta_missing",))
"""Kinds that do not count in a raw completion."""

EXAMINERS: tuple[Callable[[AnsweredRow], Iterator[Finding]], ...] = (
    examine_form,
    examine_calls,
    examine_constraints,
    examine_schema,
    examine_text,
    examine_usage,
    examine_model,
)


def findings(row: Row) -> tuple[Finding, ...]:
    """Return the findings of a row, as it has them, else examined anew.

    Args:
        row: of a results file, of any tool that writes K2-style rows.
    """
    stored = row.get("findings")
    if not isinstance(stored, list):
        return examine(row)
    return tuple(found for document in stored if (found := stored_finding(document)) is not None)


def examine(row: Row, excerpts: Mapping[str, str] | None = None, count: Count | None = None) -> tuple[Finding, ...]:
    """Examine a row, whatever findings it has already.

    Args:
        excerpts: kind -> the bytes in which the reader of the answer saw it, where the row no longer has them.
        count: counts the tokens of a text as the model does, where its tokenizer is at hand.

    Returns:
        The findings, one of each kind: the first, as further ones say the same again.
    """
    answer = AnsweredRow(row, count)
    found = {one.kind: one for one in _from_notes(row, excerpts or {}) if not (answer.is_raw and one.kind in OF_CHATS)}
    if problem := _problem(row):
        found.setdefault(problem.kind, problem)
    elif isinstance(given := row.get("problem"), dict):
        found |= {one.kind: one for one in failed_generation(answer, str(given.get("message") or ""))}
    if answer.complete:
        for examiner in EXAMINERS:
            for one in examiner(answer):
                found.setdefault(one.kind, one)
    return tuple(found.values())


def _from_notes(row: Row, excerpts: Mapping[str, str]) -> Iterator[Finding]:
    for kind in row.get("notes") or ():
        if kind in KINDS and KINDS[kind].gate == "protocol":
            yield finding(kind, KINDS[kind].meaning, excerpts.get(kind, ""))


def _problem(row: Row) -> Finding | None:
    problem = row.get("problem")
    if not isinstance(problem, dict) or problem.get("kind") not in PROTOCOL_ERRORS:
        return None
    return finding(problem["kind"], PROTOCOL_ERRORS[problem["kind"]], str(problem.get("message") or ""))
