from __future__ import annotations

from typing import Any

from support.cases import for_each
from support.scoring import gold_call

from trialbed.records import Query
from trialbed.scoring import absent_by_trials, absent_scores

CALLS = ("api_call_score", "api_precision", "api_f1")
ARGUMENTS = ("argument_accuracy", "tool_call_f1", "tool_call_accuracy")


def query(query_id: int, **more: Any) -> Query:
    return Query(query_id=query_id, text="?", apis=(), **more)


@for_each(
    ("more", "absent"),
    [
        ({"states_calls": False}, (*CALLS, *ARGUMENTS, "final_state")),
        ({"states_calls": False, "final_state": []}, (*CALLS, *ARGUMENTS)),
        ({"gold_calls": (gold_call("a", city="x"),), "final_state": 1}, ()),
        ({"gold_calls": (gold_call("a", city="x"),)}, ("final_state",)),
    ],
)
def test_a_query_lacks_the_scores_of_what_it_does_not_say(more: dict[str, Any], absent: tuple[str, ...]) -> None:
    found = absent_scores([query(1, **more), query(2, final_state="open")])
    assert found.get(1, ()) == absent


def test_where_no_query_names_a_state_there_is_no_such_score_to_lack() -> None:
    assert absent_scores([query(1), query(2, gold_calls=(gold_call("a", city="x"),))]) == {1: ARGUMENTS}
    assert absent_by_trials([1, 2], [(1, CALLS), (2, CALLS)]) == {1: ARGUMENTS, 2: ARGUMENTS}


def test_trials_show_which_queries_name_a_state() -> None:
    every = (*CALLS, *ARGUMENTS)
    assert absent_by_trials([1, 2, 3], [(1, every), (2, (*every, "final_state"))]) == {1: ("final_state",)}
