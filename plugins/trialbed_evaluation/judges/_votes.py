"""Reads a model's votes and counts them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from trialbed.contracts import STATUS_VALUES, AnswerStatus, Verdict, Vote
from trialbed.model_access import Unreadable, read_object
from trialbed_evaluation.schemas import REASON, object_schema

STATUS = "answer_status"

SCHEMA = object_schema(reason=REASON, **{STATUS: {"type": "string", "enum": list(STATUS_VALUES)}})
"""The schema of a vote; the reason comes first, so that it is not made up for a status."""

_STATUSES = {status.casefold(): status for status in STATUS_VALUES}
_WORDS = re.compile(rf"\b(?:{'|'.join(_STATUSES)})\b", re.IGNORECASE)


def read_vote(reply: str) -> Vote:
    """Return the vote in a reply: one JSON object with a status, fenced or among words, with any further keys.

    Raises:
        Unreadable: it is anything else, or the words around the object name a status too; no status is ever guessed
            from prose.
    """
    value, around = read_object(reply, STATUS)
    if _WORDS.search(around):
        raise Unreadable("the words around the JSON object name a status too")
    return Vote(status=_status(value[STATUS]), reason=_reason(value.get("reason")))


def _status(value: Any) -> AnswerStatus:
    status = _STATUSES.get(value.strip().casefold()) if isinstance(value, str) else None
    if status is None:
        raise Unreadable(f"{STATUS} is {value!r}, not one of {', '.join(STATUS_VALUES)}")
    return status


def _reason(value: Any) -> str:
    return value if isinstance(value, str) else ""


def count_votes(votes: Sequence[Vote]) -> Verdict:
    """The verdict of one or more votes: the most frequent status, Unsure where two tie; the mean of the values."""
    statuses = tuple(vote.status for vote in votes)
    status = _majority(statuses)
    reasons = [vote.reason for vote in votes if vote.status == status]
    return Verdict(
        status=status,
        value=fmean(STATUS_VALUES[each] for each in statuses),
        reason=reasons[0] if reasons else f"the votes are split: {', '.join(statuses)}",
        votes=statuses,
        ballots=tuple(votes),
    )


def _majority(statuses: Sequence[AnswerStatus]) -> AnswerStatus:
    (first, most), *others = Counter(statuses).most_common()
    tied = any(count == most for _, count in others)
    return "Unsure" if tied else first
