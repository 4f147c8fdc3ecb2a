"""Scores of two sides, query by query."""

from __future__ import annotations

from collections.abc import Sequence

from trialbed.report.comparison import CommonQueries, ComparedRun, ComparedTrial, Side


def side(name: str, trials: Sequence[ComparedTrial]) -> Side:
    return Side(name, name, ComparedRun(name), trials, frozenset({"solved"}), frozenset({"solved"}))


def solved(query: int | str, value: float, repeat: int = 0, tools: str = "") -> ComparedTrial:
    return ComparedTrial(query, {"solved": value}, repeat=repeat, tools=frozenset({tools}) if tools else None)


BASELINE = side("a", [solved(1, 1.0), solved(1, 0.5, 1), solved("1", 0.0), solved(3, 1.0), solved(4, 1.0, 2)])
CANDIDATE = side("b", [solved(4, 0.0, 1), solved("1", 1.0), solved(1, 0.0, 1), solved(1, 1.0, 2), solved(5, 1.0)])


def test_differences_are_those_of_the_repeats_that_both_sides_have() -> None:
    common = CommonQueries(BASELINE, CANDIDATE)
    assert len(common) == 3
    found = common.repeat_differences("solved")
    assert found == {(-0.5,): 1, (1.0,): 1}, "queries 1 and '1'; those of 4 differ in repeats"
    assert common.repeat_differences("nosuch") == {}
    assert CommonQueries(BASELINE, BASELINE).repeat_differences("solved") == {(0.0, 0.0): 1, (0.0,): 3}


def test_queries_with_other_tools_are_counted_where_both_sides_say_which() -> None:
    ours = side("a", [solved(1, 1.0, tools="x"), solved(2, 1.0, tools="x"), solved(3, 1.0), solved(4, 1.0, tools="y")])
    theirs = side(
        "b", [solved(4, 1.0, tools="y"), solved(3, 1.0, tools="x"), solved(2, 1.0, tools="y"), solved(1, 1.0)]
    )
    assert CommonQueries(ours, theirs).unlike_offers == 1
    assert CommonQueries(ours, ours).unlike_offers == 0


def test_the_numbers_of_repeats_take_no_memory() -> None:
    late = side("a", [solved(1, 1.0, 2_026_112_700), solved(2, 1.0, 2_026_112_701)])
    other = side("b", [solved(1, 0.0, 2_026_112_700), solved(2, 1.0, 2_026_112_701)])
    assert CommonQueries(late, other).repeat_differences("solved") == {(-1.0,): 1, (0.0,): 1}


def test_a_side_without_trials_has_no_differences() -> None:
    assert CommonQueries(side("a", []), CANDIDATE).repeat_differences("solved") == {}
