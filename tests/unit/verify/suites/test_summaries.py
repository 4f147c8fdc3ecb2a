from __future__ import annotations

from typing import Any

from support.cases import for_each

from trialbed_verify.suites import suite_row, summarize_suites


def row(suite: Any, **more: Any) -> dict[str, Any]:
    response = {"choices": [{"index": 0, "message": {"content": "text"}}]}
    return {"suite": suite, "status": "success", "outcome": "stop", "response": response, **more}


def about(case: str, *, calls: bool, **more: Any) -> dict[str, Any]:
    return {"name": "own", "case": case, "expect": {"calls": calls}, **more}


def summaries(*rows: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return summarize_suites(found for row in rows if (found := suite_row(row)))


def test_trials_of_a_case_are_one_observation() -> None:
    trials = [row(about("right", calls=False), trial=trial) for trial in range(10)]
    found = summaries(*trials, row(about("wrong", calls=True)))["own"]
    assert (found["rows"], found["cases"], found["score"]["value"], found["score"]["n"]) == (11, 2, 0.5, 2)


def test_the_first_examples_are_those_of_the_test_set_whatever_the_order_of_arrival() -> None:
    found = summaries(*(row(about(str(line), calls=True), data_index=line) for line in (9, 2, 7, 1, 3)))
    assert [one["line"] for one in found["own"]["examples"]["calls"]] == [1, 2, 3]


@for_each("suite", [None, [], "x", {"name": 5}, {"name": "own"}, {"name": "own", "by": [], "expect": 5}])
def test_rows_of_other_tools_break_nothing(suite: Any) -> None:
    odd = row(about("odd", calls=True, by="x", probe=5), data_index="x", trial=[])
    assert summaries(row(suite), {}, odd)["own"]["cases"] == 1
