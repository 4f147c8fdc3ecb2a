"""What a page of compared runs is called."""

from __future__ import annotations

from pathlib import Path

from support.written_documents import write

from trialbed.report.comparison import ComparisonOptions, compare_groups, read_sides
from trialbed_evaluation.run_comparer import _title

__all__ = ["write"]


def test_the_page_of_two_runs_of_the_same_frameworks_is_titled_by_their_difference(write) -> None:
    def run(model: str) -> list[Path]:
        return [write(name, {1: {"sopr_score": 1.0}}, run_id=f"run of {model}", model=model) for name in "ab"]

    groups = [[side for path in run(model) for side in read_sides(str(path), None)] for model in ("one", "two")]
    assert _title(compare_groups(groups, ComparisonOptions())) == "a, b: two compared with one"
