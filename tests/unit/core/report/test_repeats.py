"""pass@k and pass^k of a run."""

from __future__ import annotations

import pytest
from support.trials import ended

from trialbed.records import Answer, Score, TrialResult
from trialbed.report._repeats import repeat_figures


def trial(query_id: int, repeat: int, label: str | None) -> TrialResult:
    """A trial with this verdict; one that failed for None, one without a verdict for an empty one."""
    result = ended("agent" if label is None else None)
    key = result.key.model_copy(update={"query_id": query_id, "repeat": repeat})
    scores = () if label is None else (Score(name="sopr_score", value=1.0 if label else None, label=label or None),)
    outcome = result.outcome if label is None else result.outcome.model_copy(update={"answer": Answer(final_answer="")})
    return result.model_copy(update={"key": key, "scores": scores, "outcome": outcome})


def test_failures_are_no_success_and_trials_without_verdict_are_left_out() -> None:
    outcomes = {1: ["Solved", "Solved", None], 2: ["Solved", "Unsure", ""], 3: ["Unsolved", "Unsolved", "Unsolved"]}
    found = repeat_figures(
        [trial(query, place, label) for query, own in outcomes.items() for place, label in enumerate(own)]
    )
    at, every = found["pass_at_k"], found["pass_hat_k"]
    assert list(at) == list(every) == ["1", "2", "3"]
    assert at["1"]["value"] == every["1"]["value"] == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)
    assert at["2"]["value"] == pytest.approx((1 + 1 + 0) / 3)
    assert every["2"]["value"] == pytest.approx((1 / 3 + 0 + 0) / 3)
    assert (at["3"]["value"], every["3"]["value"], at["3"]["n"]) == (0.5, 0.0, 2)
    assert at["3"]["low"] < 0.5 < at["3"]["high"]


def test_there_is_nothing_to_say_without_repeats() -> None:
    assert repeat_figures([trial(1, 0, "Solved"), trial(2, 0, None)]) == {"pass_at_k": {}, "pass_hat_k": {}}
    assert repeat_figures([]) == {"pass_at_k": {}, "pass_hat_k": {}}
