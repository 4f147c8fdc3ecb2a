"""Judges under the kit: a right one conforms, and each deliberate defect fails the check that is about it."""

from __future__ import annotations

from typing import Any, cast

from support.cases import for_each
from support.checked_plugins import COUNT, check

from trialbed.contracts import (
    Judge,
    Verdict,
)


class RightJudge(Judge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        status = "Solved" if answer.final_answer else "Unsolved"
        return Verdict(
            status=cast("Any", status), value=float(status == "Solved"), reason="text", votes=(cast("Any", status),)
        )


class FirstWordJudge(RightJudge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        assert answer.final_answer.split()[0]
        return await super().judge(query, answer, wire)


class TextJudge(RightJudge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Any:
        return "Solved"


class OtherValueJudge(RightJudge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        return (await super().judge(query, answer, wire)).model_copy(update={"value": 0.7})


class OtherStatusJudge(RightJudge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        return (await super().judge(query, answer, wire)).model_copy(update={"status": "Unsure"})


class VotelessJudge(RightJudge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        return (await super().judge(query, answer, wire)).model_copy(update={"votes": ()})


class SilentJudge(RightJudge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        return (await super().judge(query, answer, wire)).model_copy(update={"reason": " "})


class ChangingJudge(RightJudge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        return (await super().judge(query, answer, wire)).model_copy(update={"reason": f"the {next(COUNT)}th"})


class TwoVotesJudge(RightJudge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        found = await super().judge(query, answer, wire)
        return found.model_copy(update={"votes": found.votes * 2})


class CarelessJudge(RightJudge):
    needs_model = True

    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        assert self.model is not None
        return await super().judge(
            query, answer.model_copy(update={"final_answer": (await self.model.ask([]))[0]}), wire
        )


class ObjectAboutJudge(RightJudge):
    @property
    def about(self) -> Any:
        return {"prompt": {1, 2}}


class TextPreferenceJudge(RightJudge):
    async def prefer(self, query: Any, first: Any, second: Any, *, vote: int = 0) -> Any:
        return "first"


def test_a_right_judge_conforms() -> None:
    assert check("judges", RightJudge) == {}


@for_each(
    "judge, name",
    [
        (FirstWordJudge, "every_answer_gets_a_verdict_or_a_judge_error"),
        (TextJudge, "every_answer_gets_a_verdict_or_a_judge_error"),
        (OtherValueJudge, "verdicts_follow_from_their_votes"),
        (OtherStatusJudge, "verdicts_follow_from_their_votes"),
        (VotelessJudge, "verdicts_follow_from_their_votes"),
        (SilentJudge, "verdicts_have_a_reason"),
        (ChangingJudge, "equal_answers_get_equal_verdicts"),
        (TwoVotesJudge, "there_are_as_many_votes_as_asked_for"),
        (CarelessJudge, "unreadable_replies_are_judge_errors"),
        (ObjectAboutJudge, "what_it_depends_on_is_json"),
        (TextPreferenceJudge, "preferences_are_preferences"),
    ],
)
def test_each_defect_of_a_judge_is_named(judge: type[Judge], name: str) -> None:
    assert name in check("judges", judge)


def test_a_failure_says_what_was_expected_seen_why_and_what_to_do_with_the_plugins_line() -> None:
    message = check("judges", FirstWordJudge)["every_answer_gets_a_verdict_or_a_judge_error"]
    assert message.startswith(
        "expected a verdict on an empty answer without calls, or a JudgeError; seen: IndexError: "
    )
    assert f'(File "{__file__}", line ' in message
    assert "\nwhy: " in message
    assert "\nhint: Raise trialbed.errors.JudgeError" in message
