"""Examines rows of results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from trialbed_verify.findings._answers import AnsweredRow, Count, object_of
from trialbed_verify.findings._constraints import examine_constraints
from trialbed_verify.findings._form import examine_calls, examine_form
from trialbed_verify.findings._kinds import (
    KINDS,
    PROTOCOL_ERRORS,
    Check,
    Finding,
    finding,
    make_findings,
    stored_finding,
)
from trialbed_verify.findings._schema import examine_schema
from trialbed_verify.findings._text import examine_text, failed_generation
from trialbed_verify.findings._usage import examine_usage

SNAPSHOT = re.compile(r"(?:[-@:](?:\d{3,8}|\d\d-\d{2,4}|v\d[\d.]*(?::\d+)?|latest|free|preview)){1,6}")
"""The snapshot of a model, after its name; a single digit names another model."""


def examine_model(answer: AnsweredRow) -> Iterator[Check]:
    """Yield the check that the answer names the model of the request."""
    asked, served = answer.request.get("model"), answer.response.get("model")
    if isinstance(asked, str) and isinstance(served, str) and asked and served:
        yield not same_model(asked, served), "other_model", (asked, served), {"model": served}


def same_model(asked: str, served: str) -> bool:
    """Return whether two names can stand for one model: publisher, snapshot and case may differ."""
    if asked == served:
        return True
    one, other = (name.rpartition("/")[2].casefold() for name in (asked, served))
    short, long = sorted((one, other), key=len)
    return long == short or (long.startswith(short) and SNAPSHOT.fullmatch(long, len(short)) is not None)


Row = Mapping[str, Any]

EXAMINERS = (
    *(examine_form, examine_calls, examine_constraints, examine_schema, examine_text, examine_usage, examine_model),
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
    answer, problem = AnsweredRow(row, count), object_of(row.get("problem"))
    kind, said = str(problem.get("kind")), str(problem.get("message") or "")
    notes = [note for note in row.get("notes") or () if note in KINDS and KINDS[note].gate == "protocol"]
    # A raw completion has no delta.
    told = {note: (excerpts or {}).get(note, "") for note in notes if not (answer.is_raw and note == "delta_missing")}
    if kind in PROTOCOL_ERRORS:
        told.setdefault(kind, said)
    checks = chain(failed_generation(answer, said), *(look(answer) for look in EXAMINERS if answer.complete))
    noted = (finding(name, KINDS[name].meaning, evidence) for name, evidence in told.items())
    found: dict[str, Finding] = {}
    for one in chain(noted, make_findings(checks)):
        found.setdefault(one.kind, one)
    return tuple(found.values())
