"""Ranks: what is not told apart is tied."""

from __future__ import annotations

from typing import Any

from trialbed.report.comparison import open_ranks, rank_notes, read_groups
from trialbed_evaluation.run_comparer import RunComparer


def solved(count: int) -> dict[int, dict[str, float]]:
    return {query: {"sopr_score": float(query <= count)} for query in range(1, 41)}


def test_only_differences_that_are_shown_part_ranks(write: Any) -> None:
    sides = [
        side
        for name, count in (("a", 38), ("b", 37), ("c", 5), ("d", 5))
        for side in read_groups([str(write(name, solved(count)))], None)[0]
    ]
    ranks = open_ranks(sides, 0.05)
    assert ranks == {"sopr_score": {"a": (1, 2), "b": (1, 2), "c": (3, 4), "d": (3, 4)}}
    note, _ = rank_notes(ranks)
    assert note.startswith("ranks by solved: 1 to 2 a, b; 3 to 4 c, d.")
    assert open_ranks(sides[:2], 0.05) == {}


def test_names_of_scores_in_words_leave_names_that_hold_one_as_they_are() -> None:
    ranks = {"cost": {"my-cost-agent": (1, 1), "b": (2, 2), "c": (3, 3)}}
    note, _ = rank_notes(ranks, named=lambda score: {"cost": "cost, USD"}[score])
    assert note == "ranks by cost, USD: 1 my-cost-agent; 2 b; 3 c."


def test_what_ranks_mean_is_said_where_a_drawing_shows_them() -> None:
    (meaning,) = rank_notes({"sopr_score": {"a": (1, 1), "b": (2, 3), "c": (2, 3)}}, drawn=["sopr_score"])
    assert meaning.startswith(
        "Frameworks share a rank unless one is shown to be better. p is adjusted over all 3 pairs"
    )
    assert list(rank_notes({})) == []


def test_a_comparison_of_several_ranks_them(write: Any) -> None:
    files = [str(write(name, solved(count))) for name, count in (("a", 38), ("b", 38), ("c", 5))]
    options = {"margin": None, "force": False, "resamples": 100, "seed": 0, "store": None, "fail_on_regression": False}
    found = RunComparer().compare(files, options)
    assert found.document[1]["ranks"] == {"sopr_score": {"a": [1, 2], "b": [1, 2], "c": [3, 3]}}
    assert "3 c" in found.tables[-1].notes[-2]
    assert any("worse on queries 6, 7" in note and "13 more" in note for note in found.tables[-1].notes)
