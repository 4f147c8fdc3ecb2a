"""Examines rows of results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

from trialbed_verify.findings._answers import AnsweredRow, Count, object_of
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
    answer, seen = AnsweredRow(row, count), excerpts or {}
    notes = [kind for kind in row.get("notes") or () if kind in KINDS and KINDS[kind].gate == "protocol"]
    noted = (finding(kind, KINDS[kind].meaning, seen.get(kind, "")) for kind in notes)
    found = {one.kind: one for one in noted if not (answer.is_raw and one.kind in OF_CHATS)}
    problem = object_of(row.get("problem"))
    kind, said = str(problem.get("kind")), str(problem.get("message") or "")
    if kind in PROTOCOL_ERRORS:
        found.setdefault(kind, finding(kind, PROTOCOL_ERRORS[kind], said))
    examined = chain(failed_generation(answer, said), *(look(answer) for look in EXAMINERS if answer.complete))
    for one in examined:
        found.setdefault(one.kind, one)
    return tuple(found.values())
