"""Judges that are functions."""

from __future__ import annotations

from typing import Any

import pytest
from support.scoring import context

from trialbed.contracts import Verdict
from trialbed.errors import JudgeError, UsageError
from trialbed.scoring import FunctionJudge, as_judge

VERDICT = Verdict(status="Unsure", value=0.4, reason="?", votes=("Unsure",))


@pytest.mark.parametrize(
    ("found", "status", "value"),
    [
        (True, "Solved", 1.0),
        (False, "Unsolved", 0.0),
        (0.25, "Unsure", 0.25),
        (1, "Solved", 1.0),
        ("Unsure", "Unsure", 0.5),
        (VERDICT, "Unsure", 0.4),
    ],
)
async def test_what_a_function_finds_is_a_verdict(found: Any, status: str, value: float) -> None:
    def judge(query: Any, answer: Any, wire: Any) -> Any:
        assert (query.text, answer.final_answer, wire.trial) == ("?", "42", "t")
        return found

    async def later(query: Any, answer: Any, wire: Any) -> Any:
        return found

    trial = context()
    for function in (judge, later):
        verdict = await as_judge(function).judge(trial.query, trial.answer, trial.wire)
        assert (verdict.status, verdict.value) == (status, value)


@pytest.mark.parametrize("found", [None, "good", 2, -0.5, float("nan")])
async def test_what_is_no_verdict_is_said(found: Any) -> None:
    trial = context()
    with pytest.raises(JudgeError, match="a judge returns a bool, a number from 0 to 1, or a Verdict"):
        await FunctionJudge(lambda query, answer, wire: found).judge(trial.query, trial.answer, trial.wire)


def test_what_is_no_judge_is_said() -> None:
    for given in (3, FunctionJudge):
        with pytest.raises(UsageError, match="is not a judge; give a name, a Judge, or a function"):
            as_judge(given)  # type: ignore[arg-type]
