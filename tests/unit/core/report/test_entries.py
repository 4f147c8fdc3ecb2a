"""The entry of one trial."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from jsonschema_rs import Draft202012Validator
from support.memory_runs import result_document

from trialbed.records import ApiCall, Failure, GoldAnswer, Query, Run, TrialResult, Usage
from trialbed.report import document_schema

Make = Callable[..., TrialResult]
Queries = dict[int | str, Query]


def test_an_entry_has_the_whole_story(document: dict[str, Any]) -> None:
    found = document["results"][2]
    assert found["scores"] == {
        "sopr_score": 1.0,
        "api_call_score": 1.0,
        "answer_status": "Solved",
        "has_finish": True,
        "claimed_vs_observed": 0.0,
    }
    assert found["gold_apis"] == found["called_apis"] == [["weather", "now"]]
    assert found["evaluation"]["reason"] == "because"
    assert found["evaluation"]["votes"] == ["Solved"]
    assert [json.loads(node["message"])["name"] for node in found["answer_details"]] == ["weather_now", "Finish"]
    assert found["tokens"]["total_tokens"] == 11
    assert found["tokens"]["claimed"]["total_tokens"] is None
    assert found["timing"]["total_time"] == 2.25
    assert "error" not in found


def test_the_wire_stands_beside_the_claims(document: dict[str, Any]) -> None:
    assert document["results"][2]["wire"] == {
        "model_calls": 2,
        "model_errors": 1,
        "retries": 1,
        "refused": 0,
        "finish_reasons": {},
        "truncated": 0,
        "text_calls": [],
        "request_bytes": 6,
        "response_bytes": 8,
        "api_calls": 1,
        "api_errors": 0,
        "not_offered": 0,
        "cached": 1,
        "sent": [["weather", "now"]],
        "sent_invalid": 1,
        "sent_problems": {"invalid json": 1},
        "observed": [["weather", "now"]],
        "claimed": [["weather", "now"]],
        "invented": [["a", "b"]],
        "unreported": [],
        "unasked": [["c", "d"]],
        "lost": [],
        "filled": [],
    }
    found = document["summary"]["claims"]
    assert (found["invented"], found["unreported"], found["unasked"]) == (1, 0, 1)


def test_a_failed_trial_says_why_and_is_0_in_scores_of_quality(document: dict[str, Any]) -> None:
    found = document["results"][1]
    assert found["error"] == {"kind": "crash", "message": "it died", "detail": "stderr"}
    assert found["status"] == "failed"
    assert found["scores"] == {
        "sopr_score": 0.0,
        "api_call_score": 0.0,
        "api_precision": 0.0,
        "api_f1": 0.0,
        "answer_status": "Error",
        "has_finish": False,
    }
    assert found["called_apis"] == [["weather", "now"]]
    assert found["wire"]["sent"] == [["w"]]


def test_a_judge_that_failed_is_no_verdict(document: dict[str, Any]) -> None:
    found = document["results"][3]
    assert found["scores"]["sopr_score"] is None
    assert found["scores"]["answer_status"] == "Error"
    assert found["evaluation"]["reason"] == "judge rule: none"
    assert found["score_details"]["sopr_score"]["failure"]["kind"] == "judge"


def test_claimed_tokens_stand_beside(run: Run, queries: Queries, make: Make) -> None:
    (found,) = result_document(run, "reference", queries, [make(usage=Usage(prompt_tokens=1))], {})["results"]
    assert found["tokens"]["claimed"] == {"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1}


def test_tools_that_fill_up_a_choice_are_named(run: Run, queries: Queries, make: Make) -> None:
    trial = make().model_copy(update={"topped_up_tools": ("weather_now",)})
    document = result_document(run, "reference", queries, [trial], {})
    Draft202012Validator(document_schema()).validate(document)
    assert [entry["topped_up_tools"] for entry in document["results"]] == [["weather_now"]]


def test_gold_calls_that_the_run_made_stand_in_each_entry_of_their_query(
    run: Run, queries: Queries, results: list[TrialResult]
) -> None:
    good = results[0].wire.api_calls[0].model_copy(update={"response": {"sky": "blue"}})
    refused = ApiCall(started=0, duration=0.5, api=good.api, offered=True, arguments={}, error="no such city")
    answers = {query_id: GoldAnswer(query_id=query_id, seconds=3.0, calls=(good, refused)) for query_id in (1, 2)}
    document = result_document(run, "reference", queries, results, {}, gold=answers)
    Draft202012Validator(document_schema()).validate(document)
    second, first = document["results"][0], document["results"][2]
    assert (first["gold_answer_time"], first["gold_api_responses"]) == (3.0, 1)
    assert first["gold_answer"] == {"final_answer": '{"sky": "blue"}', "has_finish": True}
    assert second["gold_answer"] == {"final_answer": "It is 2.", "has_finish": True}
    assert [each["error"] for each in first["gold_responses"]] == ["", "no such city"]
    assert (first["timing"]["gold_answer_time"], first["timing"]["total_time"]) == (3.0, 5.25)
    summary = document["summary"]
    assert (summary["average_gold_answer_time"], summary["denominators"]["gold_answer_time"]) == (3.0, 4)
    bare = result_document(run, "reference", queries, results, {})["results"][2]
    assert (bare["gold_answer_time"], bare["gold_api_responses"], bare["gold_responses"]) == (None, None, None)


def test_the_answer_of_a_failed_trial_is_empty(make: Make, run: Run, queries: Queries) -> None:
    """What an agent makes of a refusal is in its claims, and no answer for those who evaluate the document."""
    made = make(1)
    failure = Failure(kind="limit", message="stopped by the limit")
    failed = made.model_copy(update={"outcome": made.outcome.model_copy(update={"failure": failure})})
    (found,) = result_document(run, "reference", queries, [failed], {})["results"]
    assert (found["final_answer"], found["system_answer"]) == ("", {"final_answer": "", "has_finish": False})
    assert found["answer_details"]


def test_a_failed_trial_has_no_score_of_calls_where_its_query_states_none(
    make: Make, run: Run, queries: Queries
) -> None:
    made = make(1)
    failed = made.model_copy(
        update={"outcome": made.outcome.model_copy(update={"failure": Failure(kind="agent", message="no")})}
    )
    silent = {key: query.model_copy(update={"states_calls": False}) for key, query in queries.items()}
    for known, value in ((queries, 0.0), (silent, None)):
        document = result_document(run, "reference", known, [failed], {})
        assert document["results"][0]["scores"]["api_call_score"] == value
        assert document["summary"]["average_api_call_score"] == value
