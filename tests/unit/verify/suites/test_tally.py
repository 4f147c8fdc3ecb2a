from __future__ import annotations

from typing import Any

from support.cases import for_each

from trialbed_verify.suites import SuiteTally


def row(suite: Any, **more: Any) -> dict[str, Any]:
    response = {"choices": [{"index": 0, "message": {"content": "text"}}]}
    return {"suite": suite, "status": "success", "outcome": "stop", "response": response, **more}


def about(case: str, *, calls: bool, **more: Any) -> dict[str, Any]:
    return {"name": "own", "case": case, "expect": {"calls": calls}, **more}


def test_trials_of_a_case_are_one_observation() -> None:
    tally = SuiteTally()
    for trial in range(10):
        tally.add(row(about("right", calls=False), trial=trial))
    tally.add(row(about("wrong", calls=True)))
    found = tally.summaries()["own"]
    assert found.score is not None
    assert (found.rows, found.cases, found.score.value, found.score.n) == (11, 2, 0.5, 2)


def test_the_first_examples_are_those_of_the_test_set_whatever_the_order_of_arrival() -> None:
    tally = SuiteTally()
    for line in (9, 2, 7, 1, 3):
        tally.add(row(about(str(line), calls=True), data_index=line))
    assert [one.line for one in tally.summaries()["own"].examples["calls"]] == [1, 2, 3]


@for_each("suite", [None, [], "x", {"name": 5}, {"name": "own"}, {"name": "own", "by": [], "expect": 5}])
def test_rows_of_other_tools_break_nothing(suite: Any) -> None:
    tally = SuiteTally()
    tally.add(row(suite))
    tally.add({})
    tally.add(row(about("odd", calls=True, by="x", probe=5), data_index="x", trial=[]))
    assert tally.summaries()["own"].cases == 1
