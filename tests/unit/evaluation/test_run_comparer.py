"""The title of a page of compared runs, and the sentences that it begins with."""

from __future__ import annotations

from typing import Any

import pytest
from support.written_documents import Write, write

from trialbed.report.comparison import RunComparison, compare_groups, read_groups
from trialbed_evaluation.run_comparer import _conclusions, _title

__all__ = ["write"]

WRONG = {query: {"sopr_score": 0.0} for query in range(4)}
FAILED = dict.fromkeys(range(4), "agent")


@pytest.fixture
def compared(write: Write) -> Any:
    """Compares documents: each is a framework, its trials, and its settings."""

    def compare(*documents: tuple[str, dict[int, Any], dict[str, Any]]) -> list[RunComparison]:
        paths = [
            write(name, trials, run_id=f"run {place}", **about) for place, (name, trials, about) in enumerate(documents)
        ]
        return compare_groups([read_groups([str(path)], None)[0] for path in paths])

    return compare


def notes(found: list[RunComparison]) -> list[str]:
    return list(_conclusions(found).notes)


def test_the_page_of_two_runs_is_titled_by_their_setups(write: Write) -> None:
    groups = [
        [
            side
            for name in "ab"
            for side in read_groups(
                [str(write(name, {1: {"sopr_score": 1.0}}, run_id=f"run of {model}", model=model))], None
            )[0]
        ]
        for model in ("one", "two")
    ]
    assert _title(compare_groups(groups)) == "a (two), b (two) compared with a (one), b (one)"


def test_a_side_whose_trials_all_failed_is_said_to_have_failed_before_all_else(compared: Any) -> None:
    failed, wrong = ("mine", FAILED, {}), ("reference", WRONG, {})
    words = "mine failed in all 4 trials: error in the agent"
    assert notes(compared(wrong, failed))[0] == f"{words}; it solves 0 % of 4 common tasks."
    assert notes(compared(failed, wrong)) == [
        f"{words}.",
        "reference solves 0 % of 4 common tasks, the same as mine on every task.",
    ]


def test_several_settings_that_differ_are_said_to_leave_no_single_cause(compared: Any) -> None:
    def said(**settings: Any) -> list[str]:
        return notes(compared(("mine", WRONG, {}), ("mine", WRONG, settings)))[1:]

    assert said(model="m") == []
    assert said(model="m", faults="{}") == ["No difference has a single cause, as these differ: model and faults."]


def test_a_model_that_frameworks_are_told_by_its_own_name_is_one_setting(compared: Any) -> None:
    def settings(**theirs: Any) -> tuple[str, list[str]]:
        (found,) = compared(("mine", WRONG, {"model": "big", "model_name": "big"}), ("mine", WRONG, theirs))
        return found.candidate.name, [*found.settings]

    assert settings(model="small", model_name="small") == ("mine (small)", ["model"])
    assert settings(model="small", model_name="gpt-4o") == ("mine (small, model name gpt-4o)", ["model", "model_name"])
