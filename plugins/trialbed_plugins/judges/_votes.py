"""Reads a model's votes and counts them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from pydantic import Field, ValidationError

from trialbed.contracts import STATUS_VALUES, AnswerStatus, Verdict
from trialbed.records import Record

FENCE = re.compile(r"\A```(?:json)?\s*\n(.*?)\n?\s*```\Z", re.DOTALL | re.IGNORECASE)


class Malformed(ValueError):
    """A reply that is not a vote; says why."""


class Vote(Record):
    """One reply of the model."""

    answer_status: AnswerStatus
    reason: str = Field(min_length=1)


def read_vote(reply: str) -> Vote:
    """The vote in a reply: one JSON object with these two keys, in a code fence or not, and nothing else.

    Raises:
        Malformed: it is anything else; no status is ever guessed from prose.
    """
    text = reply.strip()
    fenced = FENCE.match(text)
    try:
        return Vote.model_validate_json(fenced.group(1) if fenced else text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise Malformed(f"{place}: {first['msg']}" if place else first["msg"]) from error


def count_votes(votes: Sequence[Vote]) -> Verdict:
    """The verdict of one or more votes: the most frequent status, Unsure where two tie; the mean of the values."""
    statuses = tuple(vote.answer_status for vote in votes)
    status = _majority(statuses)
    reasons = [vote.reason for vote in votes if vote.answer_status == status]
    return Verdict(
        status=status,
        value=fmean(STATUS_VALUES[each] for each in statuses),
        reason=reasons[0] if reasons else f"the votes are split: {', '.join(statuses)}",
        votes=statuses,
    )


def _majority(statuses: Sequence[AnswerStatus]) -> AnswerStatus:
    (first, most), *others = Counter(statuses).most_common()
    tied = any(count == most for _, count in others)
    return "Unsure" if tied else first
