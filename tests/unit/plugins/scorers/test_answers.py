from __future__ import annotations

import pytest
from support.scoring import SOLVED, Says, api_call, scores

from trialbed.contracts import Verdict
from trialbed.errors import JudgeError
from trialbed.records import Answer, Query, WireLog


@pytest.mark.parametrize(("finish", "value"), [("give_answer", 1), ("give_up_and_restart", 1), (None, 0)])
async def test_finish(finish: str | None, value: float) -> None:
    found = (await scores(finish=finish))["has_finish"]
    assert (found.value, found.label) == (value, finish)


async def test_the_judges_verdict_is_the_sopr_score() -> None:
    found = (await scores())["sopr_score"]
    assert (found.value, found.label) == (1.0, "Solved")
    assert found.detail == {"method": "rule", "reason": "good", "votes": ["Solved"], "agreement": 1.0}


@pytest.mark.parametrize(
    ("error", "message"),
    [(JudgeError("no verdict"), "judge rule: no verdict"), (KeyError("x"), "judge rule: KeyError: 'x'")],
)
async def test_a_judge_that_fails_is_a_failure_and_harms_no_other_score(error: Exception, message: str) -> None:
    found = await scores(judge=Says(error))
    failure = found["sopr_score"].failure
    assert found["sopr_score"].value is None
    assert failure is not None
    assert (failure.kind, failure.message) == ("judge", message)
    assert found["has_finish"].value == 1


async def test_an_answer_that_rests_on_calls_nobody_asked_for_is_unsolved() -> None:
    calls = [api_call("a"), api_call("b")]
    found = (await scores("ab", calls, unasked=calls[1:]))["sopr_score"]
    assert (found.value, found.label) == (0.0, "Unsolved")
    assert "t: b" in str(found.detail["reason"])


async def test_a_refused_call_that_nobody_asked_for_does_not_take_the_verdict() -> None:
    calls = [api_call("a"), api_call("b", error="invalid arguments")]
    assert (await scores("a", calls, unasked=calls[1:]))["sopr_score"].value == 1.0


async def test_a_repeated_call_does_not_take_the_verdict() -> None:
    calls = [api_call("a"), api_call("a")]
    assert (await scores("a", calls, unasked=calls[1:]))["sopr_score"].value == 1.0


async def test_the_judge_does_not_see_calls_that_nobody_asked_for() -> None:
    class Looking(Says):
        seen = 0

        async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
            self.seen = len(wire.api_calls)
            return await super().judge(query, answer, wire)

    looking, calls = Looking(SOLVED.verdict), [api_call("a"), api_call("a")]
    await scores("a", calls, judge=looking, unasked=calls[1:])
    assert looking.seen == 1
