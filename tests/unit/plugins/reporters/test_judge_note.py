"""The note on how far the judge can be trusted."""

from __future__ import annotations

from typing import Any

from support.cases import for_each
from support.run_reports import run_of

from trialbed_plugins.reporters._notes import _on_judge

CALIBRATION = {
    "labels": "embedded",
    "labels_digest": "d",
    "cases": 137,
    "failures": 0,
    "accuracy": 0.9,
    "accuracy_low": 0.84,
    "accuracy_high": 0.94,
    "kappa": 0.82,
    "kappa_low": 0.73,
    "kappa_high": 0.91,
    "confusion": {},
}


@for_each(
    ("judge", "note"),
    [
        (None, []),
        (
            {"model": None, "calibration": CALIBRATION},
            ["The judge rule agrees with 90 % [84 %, 94 %] of 137 labelled cases (embedded), kappa 0.82 [0.73, 0.91]."],
        ),
        (
            {"model": "m", "calibration": None},
            ["The judge rule:m is uncalibrated: `bench judge calibrate` measures how far it agrees with labels."],
        ),
        ({"model": None, "asked": False, "calibration": CALIBRATION}, []),
        (
            {"model": "m", "asked": False, "calibration": CALIBRATION, "criteria_calibration": None},
            [
                "m reads the criteria of tasks, and is uncalibrated for them: `bench judge calibrate FILE` measures it "
                "on cases with a criterion."
            ],
        ),
    ],
)
def test_the_judge_is_named_with_its_calibration(judge: dict[str, Any] | None, note: list[str]) -> None:
    assert list(_on_judge(run_of({"agent_name": "a", "evaluator_model": "rule", "judge": judge}))) == note


def test_a_judge_that_is_named_judge_is_named_once() -> None:
    (note,) = _on_judge(
        run_of({"agent_name": "a", "evaluator_model": "judge", "judge": {"model": None, "calibration": None}})
    )
    assert note.startswith("The judge is uncalibrated: ")
