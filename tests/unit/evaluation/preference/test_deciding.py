"""Which of two answers is better: the rules, both orders, votes and ties."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from trialbed.contracts import Candidate, Judge, Preference, Verdict, Winner
from trialbed.errors import JudgeError
from trialbed.records import Answer, Query, WireLog
from trialbed_evaluation.preference import (
    Contest,
    Decision,
    PreferenceResult,
    decide,
    preference_records,
    preference_table,
    undecided_lines,
)
from trialbed_evaluation.preference._deciding import Contestant

NOON = datetime(2026, 1, 2, tzinfo=UTC)
QUERY = Query(query_id=1, text="q?", apis=())


class Taste(Judge):
    """Prefers as these winners say, in turn, the last one for ever."""

    def __init__(self, *winners: Winner) -> None:
        super().__init__()
        self.winners = list(winners)
        self.asked: list[tuple[str, str, int]] = []

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        raise JudgeError("not asked for")

    async def prefer(self, query: Query, first: Candidate, second: Candidate, *, vote: int = 0) -> Preference:
        self.asked.append((first.answer.final_answer, second.answer.final_answer, vote))
        winner = self.winners.pop(0) if len(self.winners) > 1 else self.winners[0]
        return Preference(winner=winner, reason="so")


class NoTaste(Judge):
    """Compares nothing."""

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        raise JudgeError("not asked for")


def side(text: str | None, status: Any = None) -> Contestant:
    if text is None:
        return Contestant(answer=None)
    wire = WireLog(trial="t", opened_at=NOON)
    return Contestant(answer=Candidate(answer=Answer(final_answer=text), wire=wire), status=status)


async def decided(judge: Judge, baseline: Contestant, candidate: Contestant, votes: int = 1) -> Decision:
    contest = Contest(query=QUERY, repeat=0, baseline=baseline, candidate=candidate)
    return await decide(judge, contest, votes=votes)


@pytest.mark.parametrize(
    ("baseline", "candidate", "winner", "by"),
    [
        (side("a", "Solved"), side("b", "Unsure"), "baseline", "status"),
        (side("a", "Unsolved"), side("b", "Solved"), "candidate", "status"),
        (side("a", "Unsolved"), side("b", "Unsure"), "candidate", "status"),
        (side("a", "Unsure"), side("b", None), "baseline", "status"),
        (side(None), side("b", "Unsolved"), "candidate", "missing"),
        (side("a", "Unsolved"), side(None), "baseline", "missing"),
        (side(None), side(None), "tie", "missing"),
        (side("a", "Solved"), side("a", "Solved"), "tie", "identical"),
    ],
)
async def test_what_is_decided_without_the_judge(
    baseline: Contestant, candidate: Contestant, winner: str, by: str
) -> None:
    judge = Taste("tie")
    found = await decided(judge, baseline, candidate)
    assert (found.winner, found.by) == (winner, by)
    assert judge.asked == []


@pytest.mark.parametrize("status", ["Solved", "Unsure", "Unsolved", None])
async def test_equal_statuses_are_the_judges_in_both_orders(status: Any) -> None:
    judge = Taste("first", "second")
    found = await decided(judge, side("a", status), side("b", status))
    assert judge.asked == [("a", "b", 0), ("b", "a", 0)]
    assert (found.winner, found.by, found.votes, found.consistent) == ("baseline", "judge", ("baseline",), 1)


@pytest.mark.parametrize("always", ["first", "second"])
async def test_a_judge_that_prefers_a_place_prefers_nobody(always: Any) -> None:
    found = await decided(Taste(always), side("a"), side("b"), votes=3)
    assert (found.winner, found.votes, found.consistent) == ("tie", ("tie",) * 3, 0)


@pytest.mark.parametrize(
    ("winners", "votes", "winner"),
    [
        (("second", "first", "second", "first", "first", "second"), 3, "candidate"),
        (("second", "first", "first", "second"), 2, "tie"),
        (("tie",), 3, "tie"),
        (("tie", "tie", "second", "first"), 2, "candidate"),
    ],
)
async def test_votes_are_counted(winners: Sequence[Winner], votes: int, winner: str) -> None:
    judge = Taste(*winners)
    found = await decided(judge, side("a"), side("b"), votes=votes)
    assert found.winner == winner
    assert len(found.votes) == votes
    assert [vote for _, _, vote in judge.asked] == [number for number in range(votes) for _ in range(2)]


async def test_a_judge_that_fails_decides_nothing() -> None:
    found = await decided(NoTaste(), side("a"), side("b"))
    assert (found.winner, found.by) == (None, "failure")
    assert "does not compare answers" in found.reason


def decision(number: int, winner: Any, by: Any = "judge") -> Decision:
    votes = (winner,) if by == "judge" else ()
    return Decision(query_id=number, repeat=0, winner=winner, by=by, votes=votes, consistent=len(votes), reason="r")


def test_the_win_rate_is_over_what_was_decided() -> None:
    winners = ["candidate", "candidate", "candidate", "baseline", "tie"]
    decisions = [decision(number, winner) for number, winner in enumerate(winners)]
    found = PreferenceResult("a", "b", {"driver": "llm"}, [*decisions, decision(9, None, "failure")], 2)
    document = found.as_json()
    assert (document["wins"], document["losses"], document["ties"], document["undecided"]) == (3, 1, 1, 1)
    assert document["win_rate"]["value"] == pytest.approx(0.6)
    assert document["loss_rate"]["value"] == pytest.approx(0.2)
    assert document["order_consistency"] == 1.0
    (record,) = preference_records([found])
    assert (record["win_rate"], record["not_measured"]) == (pytest.approx(0.6), 2)
    table = preference_table([found])
    assert table.rows[0].label == "b against a"
    assert table.rows[0].cells[:5] == ("3", "1", "1", "1", "0.6000")
    assert "over wins, losses and ties" in table.notes[0]
    (line,) = undecided_lines([found, PreferenceResult("a", "c", {}, decisions, 0)])
    assert line.startswith("b against a: 1 of 6 contests are undecided")
    assert any("1 undecided, because the judge failed: r" in note for note in table.notes)


def test_repeats_of_a_query_count_once() -> None:
    once = PreferenceResult("a", "b", {}, [decision(number, "baseline") for number in range(2)], 0)
    often = PreferenceResult("a", "b", {}, [decision(number % 2, "baseline") for number in range(12)], 0)
    assert (often.contests, often.losses) == (12, 12)
    assert often.p == once.p == 0.5
    assert often.win_rate == once.win_rate
    assert often.as_json()["win_rate"]["high"] > 0.65
    split = [decision(number % 6, "candidate" if number < 6 else "baseline") for number in range(12)]
    assert PreferenceResult("a", "b", {}, split, 0).p == 1.0


def test_a_small_p_is_not_zero() -> None:
    found = PreferenceResult("a", "b", {}, [decision(number, "baseline") for number in range(24)], 0)
    assert preference_table([found]).rows[0].cells[-1] == "<0.001"


def test_without_any_contest_there_is_no_rate() -> None:
    found = PreferenceResult("a", "b", {}, [], 0)
    assert (found.win_rate, found.p, found.order_consistency) == (None, None, None)
    assert preference_table([found]).rows
