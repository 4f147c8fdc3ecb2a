"""The result of a framework in one sentence."""

from __future__ import annotations

from typing import Any

from support.cases import for_each
from support.memory_runs import report_of
from support.sides import side
from support.trials import run_config, run_of, trial_of, verdict

from trialbed.attribution import USED, Attribution
from trialbed.records import STAGES, Query, Score, ScoreDescription
from trialbed.report import Conclusion, ScoreMean, conclusions
from trialbed.report.comparison import ScoreFinding, paired_findings


def finding(candidate: list[float], baseline: list[float], margin: float = 0.05) -> ScoreFinding:
    ours, theirs = (side(name, dict(enumerate(own))) for name, own in (("reference", baseline), ("mine", candidate)))
    (found,) = paired_findings([(ours, theirs)], margin)
    return found["sopr_score"]


def lost(by_framework: int = 0, **counts: int) -> Attribution:
    found = {name.replace("_", " "): count for name, count in counts.items()}
    return Attribution({stage: found.get(stage, 0) for stage in (*STAGES, USED)}, losers={"framework": by_framework})


def conclusion(value: float | None, **parts: Any) -> str:
    return str(Conclusion("mine", "sopr_score", ScoreMean(value, (0.31, 0.86), 10), "10 tasks", **parts))


def test_it_says_what_by_how_much_how_sure_and_what_losses_are_due_to() -> None:
    few = finding([1.0] * 6 + [0.0] * 4, [1.0] * 8 + [0.0] * 2)
    assert few.verdict == "too few"
    assert conclusion(0.6, finding=few, lost=lost(wrong_arguments=6, not_called=5, not_used=3, used=9)) == (
        f"mine solves 60 % of 10 tasks, 20 points less than reference; not significant yet, about {few.queries_needed} "
        "tasks would settle it; 9 of its 23 expected calls were used, and 6 of the other 14 had wrong "
        "arguments."
    )


@for_each(
    ("found", "words"),
    [
        (finding([0.0] * 40, [1.0] * 40), ", 100 points less than reference (significant: p <0.001)."),
        (finding([1.0] * 12, [0.0] * 12), ", 100 points more than reference (significant: p <0.001)."),
        (finding([1.0] * 9, [1.0] * 9), ", the same as reference on every task."),
        (finding([1.0] * 399 + [0.0], [1.0] * 400), ", shown to be within 5 points of reference."),
        (finding([1.0, 0.0], [0.0, 1.0]), "0 points less than reference; not significant yet, about"),
    ],
)
def test_a_verdict_is_said_as_it_is(found: ScoreFinding, words: str) -> None:
    assert words in conclusion(0.5, finding=found)


def test_one_framework_has_its_interval() -> None:
    assert conclusion(0.62) == "mine solves 62 % [31 %, 86 %] of 10 tasks."
    assert conclusion(0.62, unsure=2) == "mine solves 62 % [31 %, 86 %] of 10 tasks (with 2 unsure as half)."
    assert conclusion(None, missing=3) == "mine has no result yet: 3 trials were not measured."
    assert conclusion(None, measured=3) == "mine has no result."
    assert conclusion(0.62, missing=1, measured=9).endswith("; 1 of its 10 trials was not measured.")


FAILED: dict[str, Any] = {"measured": 10, "failures": {"agent": 10}}


def test_one_whose_trials_all_failed_is_said_to_have_failed_first() -> None:
    failed = "mine failed in all 10 trials: error in the agent"
    none = [0.0] * 10
    lost_calls = lost(trial_failed=4)
    same = finding(none, none)
    assert conclusion(0.0, finding=same, lost=lost_calls, **FAILED) == f"{failed}; it solves 0 % of 10 tasks."
    worse = conclusion(0.0, finding=finding([0.0] * 40, [1.0] * 40), lost=lost_calls, **FAILED)
    assert worse == f"{failed}; it solves 0 % of 10 tasks, 100 points less than reference (significant: p <0.001)."
    assert conclusion(0.0, **FAILED) == f"{failed}; it solves 0 % [31 %, 86 %] of 10 tasks."
    assert conclusion(None, missing=2, **FAILED) == f"{failed}; 2 of its 12 trials were not measured."
    two = conclusion(0.0, measured=10, failures={"agent": 8, "timeout": 2})
    assert two.startswith("mine failed in all 10 trials: error in the agent (8), timeout (2); it solves")
    assert conclusion(0.0, measured=1, failures={"agent": 1}).startswith("mine failed in its one trial: error in")
    assert conclusion(0.0, measured=10, failures={"agent": 9}).startswith("mine solves 0 %")


def test_losses_are_counted() -> None:
    none = "; none of its {} expected calls was used: "
    four = conclusion(0.0, lost=lost(not_called=4))
    assert four.endswith(f"{none.format(4)}all were never made by the model.")
    assert conclusion(0.0, lost=lost(trial_failed=1)).endswith(
        "; its one expected call was lost in trials that failed."
    )
    one_each = lost(api_failed=1, not_called=1)
    assert conclusion(0.0, lost=one_each).endswith(f"{none.format(2)}1 of them was never made by the model.")
    one_other = lost(not_called=1, used=1)
    assert conclusion(0.5, lost=one_other).endswith(
        "; 1 of its 2 expected calls was used, and the other one was never made by the model."
    )
    same = lost(not_called=4, used=5)
    assert conclusion(0.5, lost=same).endswith(
        "; 5 of its 9 expected calls were used, and the other 4 were never made by the model."
    )
    assert conclusion(1.0, lost=lost(used=4)) == conclusion(1.0)


@for_each(
    ("found", "words"),
    [
        (lost(5, not_called=3, wrong_arguments=2), "was used: all are put down to the framework."),
        (lost(3, not_called=4, wrong_arguments=1), "was used: 3 of them are put down to the framework."),
        (lost(2, not_made=2), "was used: all were asked for and not made by the framework."),
        (lost(2, trial_failed=2), "was used: all were lost in trials that failed."),
        (lost(1, wrong_arguments=1), "; its one expected call is put down to the framework."),
        (lost(1, not_called=1, wrong_arguments=1), "was used: 1 of them was never made by the model."),
    ],
)
def test_calls_that_the_framework_lost_are_not_put_down_to_the_model(found: Attribution, words: str) -> None:
    assert words in conclusion(0.0, lost=found)


TWO = run_config(frameworks=("reference", "other"))
QUERIES: dict[int | str, Query] = {query: Query(query_id=query, text="?", apis=()) for query in (1, 2)}
SOLVED = [trial_of(query, scores=[verdict("Solved"), Score(name="exact", value=0.0)]) for query in (1, 2)]


def test_the_measure_of_a_dataset_leads() -> None:
    for described, begins in (
        ({}, "reference solves "),
        ({"exact": ScoreDescription("exact", leads=True)}, "reference reaches 0 % "),
    ):
        (first, *_) = [str(one) for one in conclusions(report_of(run_of(TWO, scores=described), QUERIES, SOLVED))]
        assert first.startswith(begins)
        assert (" in exact over " in first) == bool(described)


def test_a_framework_that_was_measured_has_no_result_without_the_others() -> None:
    begun = run_of(TWO, status="incomplete")
    found = {one.framework: str(one) for one in conclusions(report_of(begun, QUERIES, SOLVED))}
    assert found["reference"] == "reference has no result."
    assert found["other"] == "other has no result yet: 2 trials were not measured."


def test_what_failed_and_shown_differences_are_said_first_and_the_baseline_last() -> None:
    names = ("reference", "same", "worse", "failed")
    run = run_of(run_config(frameworks=names, query_ids=tuple(range(12))))
    trials = [
        trial_of(
            query,
            0,
            "crash" if name == "failed" else None,
            [] if name == "failed" else [verdict("Unsolved" if name == "worse" else "Solved")],
            framework=name,
        )
        for name in names
        for query in range(12)
    ]
    report = report_of(run, {}, trials)
    assert [one.framework for one in conclusions(report)] == ["failed", "worse", "same", "reference"]
