"""pass@k and pass^k of a run."""

from __future__ import annotations

import pytest
from support.run_reports import short
from support.trials import ended

from trialbed.records import Answer, Score, TrialResult
from trialbed.report import Success
from trialbed.report._packed import columns_of
from trialbed.report._success import success


def trial(query_id: int, repeat: int, label: str | None) -> TrialResult:
    """A trial with this verdict; one that failed for None, one without a verdict for an empty one."""
    result = ended("agent" if label is None else None)
    key = result.key.model_copy(update={"query_id": query_id, "repeat": repeat})
    scores = () if label is None else (Score(name="sopr_score", value=1.0 if label else None, label=label or None),)
    outcome = result.outcome if label is None else result.outcome.model_copy(update={"answer": Answer(final_answer="")})
    return result.model_copy(update={"key": key, "scores": scores, "outcome": outcome})


def test_failures_are_no_success_and_trials_without_verdict_are_left_out() -> None:
    outcomes = {1: ["Solved", "Solved", None], 2: ["Solved", "Unsure", ""], 3: ["Unsolved", "Unsolved", "Unsolved"]}
    found = success(
        columns_of(
            [short(trial(query, place, label)) for query, own in outcomes.items() for place, label in enumerate(own)]
        )
    )
    assert list(found.any) == list(found.each) == [1, 2, 3]
    assert found.any[1].value == found.each[1].value == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)
    assert found.any[2].value == pytest.approx((1 + 1 + 0) / 3)
    assert found.each[2].value == pytest.approx((1 / 3 + 0 + 0) / 3)
    assert (found.any[3].value, found.each[3].value, found.any[3].denominator) == (0.5, 0.0, 2)
    low, high = found.any[3].interval or (1.0, 0.0)
    assert low < 0.5 < high


def test_there_is_nothing_to_say_without_repeats() -> None:
    once = columns_of([short(trial(1, 0, "Solved")), short(trial(2, 0, None))])
    assert success(once) == success(columns_of([])) == Success({}, {})
