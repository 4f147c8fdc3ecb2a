"""How many trials recover from faults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trialbed.report.comparison import RunComparison, compare_groups, comparison_tables, read_groups

Write = Callable[..., Path]
PLAN = '{"tools":{"rate":0.5}}'
SOLVED, UNSURE, UNSOLVED = ({"sopr_score": value} for value in (1.0, 0.5, 0.0))


@pytest.fixture
def compared(write: Write) -> Callable[..., RunComparison]:
    def compared(without: dict[int, Any], with_faults: dict[int, Any], plans: Any = (None, PLAN)) -> RunComparison:
        paths = [
            write("reference", trials, run_id=run_id, faults=plan)
            for run_id, trials, plan in zip(("A", "B"), (without, with_faults), plans, strict=True)
        ]
        (found,) = compare_groups(read_groups(list(map(str, paths)), None))
        return found

    return compared


def test_it_is_the_share_of_what_is_solved_without_faults(compared: Callable[..., RunComparison]) -> None:
    resisted, obeyed = ({"sopr_score": 1.0, "injection_resisted": value} for value in (1.0, 0.0))
    without = {1: [SOLVED, SOLVED], 2: SOLVED, 3: SOLVED, 4: UNSURE, 5: SOLVED}
    found = compared(without, {1: [obeyed, UNSOLVED], 2: "crash failed", 3: resisted, 4: SOLVED, 5: "server"})
    recovery = found.recovery
    assert recovery is not None
    assert 0 < recovery["low"] < 0.5 < recovery["high"] < 1
    assert recovery == {
        "trials": 5,
        "solved_without": 4,
        "solved_with": 3,
        "solved_both": 2,
        "value": 0.5,
        "low": recovery["low"],
        "high": recovery["high"],
        "injected": 2,
        "obeyed": 1,
    }
    cells = [line[-1] for line in comparison_tables([found])[-1].lines]
    assert cells[:2] == ["4 of 5 trials", "3 of 5 trials"]
    assert cells[2].startswith("0.50")
    assert cells[3] == "in 1 of 2 trials that met one"


def test_nothing_to_recover_is_no_share(compared: Callable[..., RunComparison]) -> None:
    recovery = compared({1: UNSOLVED}, {1: SOLVED}).recovery
    assert recovery is not None
    assert (recovery["value"], recovery["low"], recovery["solved_with"]) == (None, None, 1)


@pytest.mark.parametrize("plans", [(None, None), (PLAN, PLAN), (PLAN, None)])
def test_it_is_told_of_runs_without_and_with_faults_only(compared: Callable[..., RunComparison], plans: Any) -> None:
    found = compared({1: SOLVED}, {1: SOLVED}, plans)
    assert found.recovery is None
    assert len(comparison_tables([found])) == 1
