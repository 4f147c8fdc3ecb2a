from __future__ import annotations

from typing import Any

from support.cases import for_each
from support.scoring import gold_call

from trialbed.records import Query
from trialbed.scoring import absent_scores

CALLS = ("api_call_score", "api_precision", "api_f1")
ARGUMENTS = ("argument_accuracy", "tool_call_f1", "tool_call_accuracy")


@for_each(
    ("more", "absent"),
    [
        ({"states_calls": False}, (*CALLS, *ARGUMENTS, "final_state")),
        ({"states_calls": False, "final_state": []}, (*CALLS, *ARGUMENTS)),
        ({"gold_calls": (gold_call("a", city="x"),), "final_state": 1}, ()),
        ({"gold_calls": (gold_call("a", city="x"),)}, ("final_state",)),
        ({}, (*ARGUMENTS, "final_state")),
    ],
)
def test_a_query_lacks_the_scores_of_what_it_does_not_say(more: dict[str, Any], absent: tuple[str, ...]) -> None:
    assert absent_scores(Query(query_id=1, text="?", apis=(), **more)) == absent
