"""Decides which of two answers to a query is better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from trialbed.contracts import AnswerStatus, Candidate, Judge, Winner
from trialbed.errors import JudgeError
from trialbed.records import Query, Record

Side = Literal["baseline", "candidate", "tie"]
Ground = Literal["missing", "status", "identical", "judge", "failure"]
"""The ground of a decision: a missing answer, the solved status, equal answers, the judge; or none."""

BASELINE_FIRST: Mapping[Winner, Side] = {"first": "baseline", "second": "candidate", "tie": "tie"}
CANDIDATE_FIRST: Mapping[Winner, Side] = {"first": "candidate", "second": "baseline", "tie": "tie"}


class Contestant(Record):
    """One side's answer, None where it has none, and its status."""

    answer: Candidate | None
    status: AnswerStatus | None = None


class Contest(Record):
    """Two answers to the same query."""

    query: Query
    repeat: int
    baseline: Contestant
    candidate: Contestant


class Decision(Record):
    """The better side, and the ground of that decision.

    Attributes:
        winner: None where the judge gave no preference.
        votes: the result of each vote over its two orders; a vote whose orders differ is a tie.
        consistent: the number of votes whose two orders agree.
    """

    query_id: int | str
    repeat: int
    winner: Side | None
    by: Ground
    votes: tuple[Side, ...] = ()
    consistent: int = 0
    reason: str = ""


async def decide(judge: Judge, contest: Contest, *, votes: int) -> Decision:
    """Decide a contest; a missing answer and the solved status go before the judge.

    Exactly one that is Solved wins; where none is, exactly one that is Unsure. Equal answers are a tie. All else is the
    judge's: each vote asks it twice, with either answer shown first.
    """
    winner, ground = _without_judge(contest)
    if ground is not None:
        return _decision(contest, winner=winner, by=ground)
    try:
        return await _ask(judge, contest, votes)
    except JudgeError as error:
        return _decision(contest, winner=None, by="failure", reason=str(error))
    except Exception as error:  # noqa: BLE001 - a judge is foreign code
        return _decision(contest, winner=None, by="failure", reason=f"{type(error).__name__}: {error}")


def _without_judge(contest: Contest) -> tuple[Side | None, Ground | None]:
    baseline, candidate = contest.baseline, contest.candidate
    if baseline.answer is None or candidate.answer is None:
        return _only(candidate.answer is not None, baseline.answer is not None), "missing"
    for status in ("Solved", "Unsure"):
        has = baseline.status == status, candidate.status == status
        if has[0] != has[1]:
            return _only(has[1], has[0]), "status"
        if has[0]:
            break
    if baseline.answer.answer.final_answer == candidate.answer.answer.final_answer:
        return "tie", "identical"
    return None, None


def _only(candidate: bool, baseline: bool) -> Side:
    return "tie" if candidate == baseline else ("candidate" if candidate else "baseline")


async def _ask(judge: Judge, contest: Contest, votes: int) -> Decision:
    query, baseline, candidate = contest.query, contest.baseline.answer, contest.candidate.answer
    assert baseline is not None  # noqa: S101 - neither is missing
    assert candidate is not None  # noqa: S101
    found: list[Side] = []
    reasons: list[str] = []
    consistent = 0
    for vote in range(votes):
        one = await judge.prefer(query, baseline, candidate, vote=vote)
        other = await judge.prefer(query, candidate, baseline, vote=vote)
        sides = BASELINE_FIRST[one.winner], CANDIDATE_FIRST[other.winner]
        consistent += sides[0] == sides[1]
        found.append(sides[0] if sides[0] == sides[1] else "tie")
        reasons.append(one.reason)
    wins = found.count("candidate") - found.count("baseline")
    winner: Side = "tie" if not wins else ("candidate" if wins > 0 else "baseline")
    return _decision(contest, winner=winner, by="judge", votes=tuple(found), consistent=consistent, reason=reasons[0])


def _decision(contest: Contest, **found: object) -> Decision:
    return Decision.model_validate({"query_id": contest.query.query_id, "repeat": contest.repeat, **found})
