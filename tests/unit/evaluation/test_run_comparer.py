"""What a page of compared runs is called, and the sentences that it begins with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.written_documents import write

from trialbed.report.comparison import (
    ComparedRun,
    ComparedTrial,
    ComparisonOptions,
    Side,
    compare_groups,
    read_sides,
)
from trialbed_evaluation.run_comparer import _conclusions, _title

__all__ = ["write"]


def test_the_page_of_two_runs_of_the_same_frameworks_is_titled_by_their_difference(write) -> None:
    def run(model: str) -> list[Path]:
        return [write(name, {1: {"sopr_score": 1.0}}, run_id=f"run of {model}", model=model) for name in "ab"]

    groups = [[side for path in run(model) for side in read_sides(str(path), None)] for model in ("one", "two")]
    assert _title(compare_groups(groups, ComparisonOptions())) == "a, b: two compared with one"


def _sides(*trials: ComparedTrial, name: str = "mine", **settings: Any) -> list[Side]:
    quality = frozenset({"sopr_score"})
    about = ComparedRun(name, settings={**ComparedRun().settings, **settings}, run_id=f"run of {name} {settings}")
    return [Side(name, name, about, trials, quality, quality)]


def test_a_side_whose_trials_all_failed_is_said_to_have_failed_before_all_else() -> None:
    failed = _sides(*(ComparedTrial(query, {}, "agent") for query in range(4)))
    wrong = _sides(*(ComparedTrial(query, {"sopr_score": 0.0}) for query in range(4)), name="reference")
    words = "mine failed in all 4 trials: error in the agent"
    first, *_ = _conclusions(compare_groups([wrong, failed], ComparisonOptions())).notes
    assert first == f"{words}; it solves 0 % of 4 common queries."
    first, second = _conclusions(compare_groups([failed, wrong], ComparisonOptions())).notes
    assert (first, second) == (
        f"{words}.",
        "reference solves 0 % of 4 common queries, the same as mine on every query.",
    )


def test_several_settings_that_differ_are_said_to_leave_no_single_cause() -> None:
    def run(**settings: Any) -> list[Side]:
        return _sides(*(ComparedTrial(query, {"sopr_score": 0.0}) for query in range(4)), **settings)

    def said(**settings: Any) -> list[str]:
        return list(_conclusions(compare_groups([run(), run(**settings)], ComparisonOptions())).notes[1:])

    assert said(model="m") == []
    assert said(model="m", faults="{}") == ["No difference has a single cause, as these differ: model and faults."]


def test_a_model_that_frameworks_are_told_by_its_own_name_is_one_setting() -> None:
    def run(**settings: Any) -> list[Side]:
        return _sides(*(ComparedTrial(query, {"sopr_score": 0.0}) for query in range(4)), **settings)

    def settings(**theirs: Any) -> tuple[str, list[str]]:
        (found,) = compare_groups([run(model="big", model_name="big"), run(**theirs)], ComparisonOptions())
        return found.candidate.name, [*found.settings]

    assert settings(model="small", model_name="small") == ("mine (small)", ["model"])
    assert settings(model="small", model_name="gpt-4o") == ("mine (small, model name gpt-4o)", ["model", "model_name"])
